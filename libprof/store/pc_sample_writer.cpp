#include "libprof/store/pc_sample_writer.hpp"

#include <algorithm>
#include <functional>

#include "libprof/wire/limits.hpp"
#include "schema/pc_sampling.hpp"

namespace gpuprof::store {
namespace {

// Rows remembered per stream: 100 MB. Beyond that, new rows begin.
constexpr std::size_t most_rows = std::size_t{1} << 20;

}  // namespace

std::size_t PcSampleWriter::Share::Hash::operator()(const Place& place) const {
  const auto mixed = static_cast<std::uint64_t>(place.function) * 0x9e3779b97f4a7c15 ^
                     place.offset * 0xc2b2ae3d27d4eb4f ^
                     static_cast<std::uint64_t>(place.reason) * 0x165667b19e3779f9 ^ place.device;
  return std::hash<std::uint64_t>{}(mixed ^ mixed >> 29);
}

PcSampleWriter::PcSampleWriter(Database& database, CodeFunctions& functions, Counts& counts)
    : database_(database),
      functions_(functions),
      counts_(counts),
      insert_(database.prepare(
          "INSERT INTO CUPTI_ACTIVITY_KIND_PC_SAMPLING(_id_, flags, sourceLocatorId, "
          "correlationId, functionId, latencySamples, samples, stallReason, pcOffset, "
          "stallReasonId, deviceId, processId) "
          "VALUES(?1, 0, 0, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")),
      update_(database.prepare(
          "UPDATE CUPTI_ACTIVITY_KIND_PC_SAMPLING SET latencySamples = latencySamples + ?2, "
          "samples = samples + ?3 WHERE _id_ = ?1")) {}

void PcSampleWriter::load_sampling(Share& share, const RowContext& process,
                                   std::span<const std::byte> payload) {
  const auto sampling = wire::decode_pc_sampling(payload);
  if (!sampling) return counts_.add(process.process_id, malformed_frames);
  if (share.contexts_.size() >= wire::max_code_contexts) {
    return counts_.add(process.process_id, left_out);
  }
  const auto [entry, fresh] = share.contexts_.try_emplace(sampling->context);
  if (!fresh) return counts_.add(process.process_id, malformed_frames);
  Share::Context& context = entry->second;
  context.period = stored_count(sampling->period);
  for (const wire::StallReason& reason : sampling->reasons) {
    std::string_view name = reason.name;
    const bool not_issued = name.ends_with(schema::not_issued_suffix);
    if (not_issued) name.remove_suffix(schema::not_issued_suffix.size());
    const std::int64_t id = reason_id(name, reason.index);
    if (id == 0) {
      counts_.add(process.process_id, left_out);
      continue;
    }
    context.reasons[reason.index] = {id, not_issued};
  }
  context.totals = database_
                       .integer(
                           "SELECT coalesce(max(_id_), 0) + 1 FROM "
                           "CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO")
                       .value_or(1);
  database_
      .prepare(
          "INSERT INTO CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO VALUES(?1, 0, 0, 0, ?2, 0, ?3, "
          "?4, ?5)")
      .bind(1, context.totals)
      .bind(2, context.period)
      .bind(3, std::int64_t{sampling->context})
      .bind(4, std::int64_t{sampling->device})
      .bind(5, process.process_id)
      .run();
}

std::int64_t PcSampleWriter::reason_id(std::string_view name, std::uint32_t cupti_index) {
  if (const auto known = reasons_.find(name); known != reasons_.end()) return known->second;
  if (reasons_.size() >= wire::max_stall_reasons) return 0;
  const auto id = static_cast<std::int64_t>(reasons_.size() + 1);
  std::string_view reason = name;
  if (reason.starts_with(schema::stall_prefix)) reason.remove_prefix(schema::stall_prefix.size());
  const std::int64_t kind = schema::stall_reason_number(reason);
  reasons_.emplace(name, id);
  reason_kinds_[id] = kind;
  database_.prepare("INSERT INTO PC_STALL_REASON VALUES(?1, ?2, ?3, ?4, ?5)")
      .bind(1, id)
      .bind(2, name)
      .bind(3, reason)
      .bind(4, std::int64_t{cupti_index})
      .bind(5, kind)
      .run();
  return id;
}

void PcSampleWriter::load_samples(Share& share, CodeFunctions::Share& names, RowContext& process,
                                  std::span<const std::byte> payload) {
  const auto samples = wire::decode_pc_samples(payload);
  const auto found = samples ? share.contexts_.find(samples->context) : share.contexts_.end();
  if (found == share.contexts_.end()) return counts_.add(process.process_id, malformed_frames);
  const Share::Context& context = found->second;
  counts_.add(process.process_id, "pc_samples", samples->total);
  if (samples->others) counts_.add(process.process_id, "pc_samples_of_others", samples->others);
  if (samples->dropped) counts_.add(process.process_id, "pc_samples_dropped", samples->dropped);
  if (samples->overflow) counts_.add(process.process_id, "pc_samples_overflows");
  std::vector<std::int64_t> functions;
  for (const wire::CodeFunction& function : samples->functions) {
    functions.push_back(functions_.id(names, process, samples->context, function));
  }
  std::map<std::int64_t, std::uint64_t> by_launch;
  for (const wire::PcPlace& place : samples->places) {
    const std::int64_t correlation = process.correlation(place.correlation);
    const std::int64_t function = functions[place.function - 1];
    std::map<std::int64_t, std::pair<std::uint64_t, std::uint64_t>> by_reason;
    for (std::uint32_t i = 0; i < place.counts; ++i) {
      const wire::PcCount& count = samples->counts[place.first + i];
      const auto reason = context.reasons.find(count.reason);
      if (reason == context.reasons.end() || function == 0) {
        counts_.add(process.process_id, left_out);
        continue;
      }
      auto& [all, not_issued] = by_reason[reason->second.id];
      (reason->second.not_issued ? not_issued : all) += count.samples;
    }
    for (const auto& [reason, counts] : by_reason) {
      add(share, process, {function, place.offset, reason, samples->device}, correlation,
          counts.first, counts.second);
      if (correlation != 0) by_launch[correlation] += counts.first;
    }
  }
  add_launches(context, process, *samples, by_launch);
}

void PcSampleWriter::add(Share& share, const RowContext& process, const Share::Place& place,
                         std::int64_t correlation, std::uint64_t samples,
                         std::uint64_t not_issued) {
  if (correlation == 0) {
    if (share.rows_.size() >= most_rows) share.rows_.clear();
    const auto [row, fresh] = share.rows_.try_emplace(place, last_row_ + 1);
    if (!fresh) {
      update_.bind(1, row->second)
          .bind(2, stored_count(not_issued))
          .bind(3, stored_count(samples))
          .run();
      return;
    }
  }
  insert_.bind(1, ++last_row_)
      .bind(2, correlation)
      .bind(3, place.function)
      .bind(4, stored_count(not_issued))
      .bind(5, stored_count(samples))
      .bind(6, reason_kinds_[place.reason])
      .bind(7, stored_count(place.offset))
      .bind(8, place.reason)
      .bind(9, std::int64_t{place.device})
      .bind(10, process.process_id)
      .run();
}

void PcSampleWriter::add_launches(const Share::Context& context, const RowContext& process,
                                  const wire::PcSamples& samples,
                                  const std::map<std::int64_t, std::uint64_t>& by_launch) {
  database_
      .prepare(
          "UPDATE CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO SET totalSamples = totalSamples + "
          "?2, droppedSamples = droppedSamples + ?3, otherSamples = otherSamples + ?4 "
          "WHERE _id_ = ?1")
      .bind(1, context.totals)
      .bind(2, stored_count(samples.total))
      .bind(3, stored_count(samples.dropped))
      .bind(4, stored_count(samples.others))
      .run();
  if (by_launch.empty()) return;
  Statement insert = database_.prepare(
      "INSERT INTO CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO(correlationId, totalSamples, "
      "droppedSamples, samplingPeriodInCycles, otherSamples, contextId, deviceId, processId) "
      "VALUES(?1, ?2, ?3, ?4, 0, ?5, ?6, ?7)");
  // The launch of dropped samples is known only if there is just one.
  const std::uint64_t dropped = by_launch.size() == 1 ? samples.dropped : 0;
  for (const auto& [correlation, total] : by_launch) {
    insert.bind(1, correlation)
        .bind(2, stored_count(total + dropped))
        .bind(3, stored_count(dropped))
        .bind(4, context.period)
        .bind(5, std::int64_t{samples.context})
        .bind(6, std::int64_t{samples.device})
        .bind(7, process.process_id)
        .run();
  }
}

}  // namespace gpuprof::store
