#include "libprof/record/peers.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/base/clock.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::record {
namespace {

constexpr std::chrono::seconds patience{2};
constexpr std::size_t longest_why = 400, longest_refusal = 200;  // bytes
// A request that is older comes from a launcher that no longer counts on it.
constexpr std::int64_t oldest = 10'000'000'000, clock_step = 1'000'000'000;  // ns

// "rank 3 (gpuprof 4711)"
std::string name_of(std::optional<std::int64_t> rank, pid_t process) {
  const std::string launcher = "gpuprof " + std::to_string(process);
  return rank && *rank >= 0 ? "rank " + std::to_string(*rank) + " (" + launcher + ")" : launcher;
}

std::optional<std::int64_t> rank_in(const wire::Fields& fields) {
  const auto text = fields.find("rank");
  return text ? parse<std::int64_t>(*text) : std::nullopt;
}

std::string of_peer(std::string_view text, std::size_t longest) {
  return printable(beginning_of(text, longest)) + (text.size() > longest ? "…" : "");
}

}  // namespace

void Peers::ask(const std::string& why, const Snapshots::Moment& moment) {
  if (!group_) return;
  wire::Fields request;
  request.set("do", request_name);
  request.set("job", group_->id);
  request.set("named", std::int64_t{group_->is_named});
  if (group_->rank) request.set("rank", *group_->rank);
  request.set("time", moment.name);
  request.set("until", moment.realtime);
  request.set("why", beginning_of(why, longest_why));
  const auto until = Clock::now() + patience;
  std::vector<std::string> full;
  for (launch::AskedRecording& each : launch::ask_other_recordings(request, folder_, full)) {
    asked_.push_back({std::move(each), until});
  }
  for (const std::string& socket : full) {
    note_("too many wait for the gpuprof of " + printable(socket) +
          ": if it is of this job, it has no snapshot of this time");
  }
}

void Peers::look_after() {
  const auto now = Clock::now();
  asked_.remove_if([&](Asked& asked) {
    if (asked.recording.is_over()) {
      take_answer(asked.recording);
      return true;
    }
    if (now < asked.until) return false;
    note_silent(asked.recording.process());
    return true;
  });
}

void Peers::take_answer(const launch::AskedRecording& recording) {
  const auto& answer = recording.answer();
  if (!answer) return note_silent(recording.process());
  // Of another job, or an older gpuprof.
  const auto refusal = answer->find("refused");
  if (!refusal) return;
  note_(name_of(rank_in(*answer), recording.process()) +
        " wrote no snapshot of this time: " + of_peer(*refusal, longest_refusal));
}

void Peers::note_silent(pid_t process) {
  if (!silent_.insert(process).second) return;
  note_("gpuprof " + std::to_string(process) + " did not answer within " +
        std::to_string(patience.count()) +
        " s: if it is of this job, it may have no snapshot of this time");
}

std::optional<Peers::Request> Peers::parsed(const wire::Fields& request, pid_t caller) const {
  const JobGroup other{.id = std::string(request.text("job")),
                       .rank = rank_in(request),
                       .is_named = request.integer("named") != 0};
  if (!group_ || !group_->is_with(other)) return std::nullopt;
  Snapshots::Moment moment{.name = std::string(request.text("time")),
                           .realtime = request.integer("until")};
  const std::int64_t now = clock_ns(CLOCK_REALTIME);
  if (!moment.is_plausible() || moment.realtime > now + clock_step ||
      moment.realtime < now - oldest) {
    return std::nullopt;
  }
  return Request{.why = of_peer(request.text("why"), longest_why) + " (asked for by " +
                        name_of(other.rank, caller) + ")",
                 .moment = std::move(moment)};
}

wire::Fields Peers::answer(std::string_view refusal) const {
  wire::Fields fields;
  if (refusal.empty()) {
    fields.set("taken", "1");
  } else {
    fields.set("refused", refusal);
  }
  if (group_ && group_->rank) fields.set("rank", *group_->rank);
  return fields;
}

}  // namespace gpuprof::record
