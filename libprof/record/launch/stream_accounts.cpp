#include "libprof/record/launch/stream_accounts.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "libprof/base/clock.hpp"
#include "libprof/wire/codec.hpp"
#include "libprof/wire/ledger.hpp"
#include "libprof/wire/limits.hpp"

namespace gpuprof::launch {

StreamAccounts::StreamAccounts(FrameQueue& queue, Message message)
    : queue_(queue), message_(std::move(message)) {}

void StreamAccounts::tell_user(std::int64_t process_id, std::string_view text) {
  if (!message_) return;
  try {
    message_(process_id, std::string(text));
  } catch (const std::exception&) {
    // It is counted where it happened.
  }
}

void StreamAccounts::explain(const Connection& connection, std::string_view statistic,
                             std::string_view why) {
  tell_user(connection.process_id, why);
  if (!connection.said_hello) return;
  try {
    wire::Fields fields;
    fields.set("lost", why.substr(0, wire::max_diagnostic_bytes));
    fields.set("statistic", statistic);
    fields.set("time", clock_ns(CLOCK_REALTIME));
    wire::Encoder info;
    info.fields(fields);
    queue_.push(wire::make_frame(wire::FrameType::info, connection.stream, info.bytes()));
  } catch (const std::exception&) {
    // It is counted anyway.
  }
}

void StreamAccounts::began(std::int64_t process_id, pid_t here) {
  seen_.fetch_add(1);
  const std::lock_guard lock(mutex_);
  active_.push_back({process_id, here});
}

std::vector<std::int64_t> StreamAccounts::active_processes() {
  const std::lock_guard lock(mutex_);
  std::vector<std::int64_t> all;
  for (const Active& each : active_) all.push_back(each.process_id);
  return all;
}

bool StreamAccounts::is_active(std::int64_t number) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(active_, [number](const Active& each) {
    return each.process_id == number || each.here == number;
  });
}

void StreamAccounts::forget(std::int64_t process_id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(active_, [&](const Active& each) { return each.process_id == process_id; });
}

void StreamAccounts::add_silent(const Connection& connection) {
  silent_.fetch_add(1);
  if (!connection.broken) tell_cut_off(connection);
}

void StreamAccounts::tell_cut_off(const Connection& connection) {
  tell_user(connection.process_id, "it was cut off before anything was recorded");
}

void StreamAccounts::add_losses(const Connection& connection, bool lives) {
  if (connection.gave_up) return;
  if (connection.arena < 0) {
    if (connection.said_goodbye) return;
    if (connection.arena_missing || connection.broken)
      return add_one(connection, {"", "stream_cut", 1});
    if (connection.role == wire::Role::sampler) {
      explain(connection, "stream_cut",
              "the sampler ended too early: samples are missing from then on");
      return add_one(connection, {"", "stream_cut", 1});
    }
    tell_cut_off(connection);
    return add_one(connection, {"", "not_profiled", 1});
  }
  const auto ledger = wire::read_ledger(connection.arena);
  if (ledger) add(connection, ledger->statistics);
  const bool ended = connection.said_goodbye || (ledger && ledger->ended);
  if (ended && !connection.said_goodbye) {
    queue_.push(wire::make_frame(wire::FrameType::goodbye, connection.stream, {}));
  }
  const bool whole = connection.unwatched || !ledger ? ended : !lives;
  if (connection.broken || !whole) add_one(connection, {"", "stream_cut", 1});
}

void StreamAccounts::add_unsalvaged(const Connection& connection, std::string_view problem) {
  explain(connection, "salvage_failed", problem);
  add_one(connection, {"", "salvage_failed", 1});
}

void StreamAccounts::add(const Connection& connection,
                         std::span<const wire::Statistic> statistics) {
  wire::Encoder encoder;
  wire::encode(encoder, statistics);
  queue_.push(wire::make_frame(wire::FrameType::statistics, connection.stream, encoder.bytes()));
}

void StreamAccounts::add_one(const Connection& connection, const wire::Statistic& statistic) {
  add(connection, {&statistic, 1});
}

void StreamAccounts::end(const Connection& connection) {
  if (!connection.said_hello) return;
  forget(connection.process_id);
  std::vector<wire::Statistic> statistics;
  if (connection.refused > 0) statistics.push_back({"", "frames_malformed", connection.refused});
  if (connection.renamed) statistics.push_back({"", "process_id_replaced", 1});
  wire::Encoder encoder;
  if (!statistics.empty()) wire::encode(encoder, statistics);
  queue_.push(wire::make_frame(wire::FrameType::stream_end, connection.stream, encoder.bytes()));
}

void StreamAccounts::conclude(const Connection& connection, const std::function<void()>& what) {
  const std::int64_t process_id = connection.process_id;
  try {
    what();
  } catch (const std::exception&) {
    unaccounted_.fetch_add(1);
    forget(process_id);
  }
}

}  // namespace gpuprof::launch
