#include "libprof/store/code_value_writer.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>

#include "libprof/wire/limits.hpp"
#include "schema/pc_sampling.hpp"
#include "schema/sass_metrics.hpp"

namespace gpuprof::store {
namespace {

using wire::CodeKind;

// Rows remembered per stream and kind: 100 MB. Beyond that, new rows begin.
constexpr std::size_t most_rows = std::size_t{1} << 20;

constexpr std::size_t index(CodeKind kind) { return static_cast<std::size_t>(kind); }

}  // namespace

std::size_t CodeValueWriter::Share::Hash::operator()(const Place& place) const {
  const auto mixed = static_cast<std::uint64_t>(place.function) * 0x9e3779b97f4a7c15 ^
                     place.offset * 0xc2b2ae3d27d4eb4f ^
                     static_cast<std::uint64_t>(place.reason) * 0x165667b19e3779f9 ^ place.device;
  return std::hash<std::uint64_t>{}(mixed ^ mixed >> 29);
}

CodeValueWriter::CodeValueWriter(Database& database, StringWriter& strings, Counts& counts)
    : database_(database),
      functions_(database, strings),
      counts_(counts),
      insert_samples_(database.prepare(
          "INSERT INTO CUPTI_ACTIVITY_KIND_PC_SAMPLING(_id_, flags, sourceLocatorId, "
          "correlationId, functionId, latencySamples, samples, stallReason, pcOffset, "
          "stallReasonId, deviceId, processId) "
          "VALUES(?1, 0, 0, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")),
      update_samples_(database.prepare(
          "UPDATE CUPTI_ACTIVITY_KIND_PC_SAMPLING SET latencySamples = latencySamples + ?2, "
          "samples = samples + ?3 WHERE _id_ = ?1")),
      insert_instruction_(database.prepare(
          "INSERT INTO SASS_INSTRUCTION(id, sourceLocatorId, functionId, pcOffset, "
          "deviceId, processId) VALUES(?1, 0, ?2, ?3, ?4, ?5)")),
      insert_value_(
          database.prepare("INSERT INTO SASS_VALUE(instructionId, metricId, correlationId, value) "
                           "VALUES(?1, ?2, ?3, ?4)")) {}

void CodeValueWriter::load_counters(CodeKind kind, Share& share, const RowContext& process,
                                    std::span<const std::byte> payload) {
  const auto counters = wire::decode_code_counters(kind, payload);
  if (!counters) return counts_.add(process.process_id, malformed_frames);
  auto& contexts = share.kinds_[index(kind)].contexts;
  if (contexts.size() >= wire::max_code_contexts) return counts_.add(process.process_id, left_out);
  const auto [entry, fresh] = contexts.try_emplace(counters->context);
  if (!fresh) return counts_.add(process.process_id, malformed_frames);
  Share::Context& context = entry->second;
  context.device = counters->device;
  context.period = stored_count(counters->period);
  for (const wire::CodeCounter& counter : counters->counters) {
    std::string_view name = counter.name;
    const bool not_issued =
        kind == CodeKind::pc_samples && name.ends_with(schema::not_issued_suffix);
    if (not_issued) name.remove_suffix(schema::not_issued_suffix.size());
    const std::int64_t id = counter_id(kind, name, counter);
    if (id == 0) {
      counts_.add(process.process_id, left_out);
    } else {
      context.counters[counter.index] = {id, not_issued};
    }
  }
  if (kind == CodeKind::pc_samples) insert_totals(context, counters->context, process);
}

std::int64_t CodeValueWriter::counter_id(CodeKind kind, std::string_view name,
                                         const wire::CodeCounter& counter) {
  auto& ids = ids_[index(kind)];
  if (const auto known = ids.find(name); known != ids.end()) return known->second;
  if (ids.size() >= wire::max_code_counters) return 0;
  const auto id = static_cast<std::int64_t>(ids.size() + 1);
  ids.emplace(name, id);
  const bool sampled = kind == CodeKind::pc_samples;
  const std::string_view prefix = sampled ? schema::stall_prefix : schema::sass_prefix;
  const std::string_view differs = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  Statement insert =
      database_.prepare(sampled ? "INSERT INTO PC_STALL_REASON VALUES(?1, ?2, ?3, ?4, ?5)"
                                : "INSERT INTO SASS_METRIC VALUES(?1, ?2, ?3, ?4)");
  insert.bind(1, id).bind(2, name).bind(3, differs);
  if (sampled) {
    reason_kinds_[id] = schema::stall_reason_number(differs);
    insert.bind(4, std::int64_t{counter.index}).bind(5, reason_kinds_[id]);
  } else {
    insert.bind(4, counter.description);
  }
  insert.run();
  return id;
}

void CodeValueWriter::load_values(CodeKind kind, Share& share, RowContext& process,
                                  std::span<const std::byte> payload) {
  const auto values = wire::decode_code_values(kind, payload);
  Share::OfKind& of_kind = share.kinds_[index(kind)];
  const auto found = values ? of_kind.contexts.find(values->context) : of_kind.contexts.end();
  if (found == of_kind.contexts.end()) return counts_.add(process.process_id, malformed_frames);
  Share::Context& context = found->second;
  std::vector<std::int64_t> functions;
  for (const wire::CodeFunction& function : values->functions) {
    functions.push_back(functions_.id(share.functions_, process, values->context, function));
  }
  std::map<std::int64_t, std::uint64_t> by_launch;
  for (const wire::CodePlace& place : values->places) {
    const std::int64_t correlation = process.correlation(place.correlation);
    const std::int64_t function = functions[place.function - 1];
    std::map<std::int64_t, Sums> sums;  // by counter
    for (const wire::CodeValue& value : place.values) {
      const auto counter = context.counters.find(value.counter);
      if (counter == context.counters.end() || function == 0) {
        counts_.add(process.process_id, left_out);
        continue;
      }
      Sums& sum = sums[counter->second.id];
      (counter->second.not_issued ? sum.not_issued : sum.values) += value.value;
    }
    if (kind == CodeKind::pc_samples) {
      for (const auto& [reason, sum] : sums) {
        add_samples(of_kind, process, {function, place.offset, reason, context.device}, correlation,
                    sum);
        if (correlation != 0) by_launch[correlation] += sum.values;
      }
    } else if (!sums.empty()) {
      const std::int64_t instruction =
          instruction_id(of_kind, process, {function, place.offset, 0, context.device});
      for (const auto& [metric, sum] : sums) {
        insert_value_.bind(1, instruction)
            .bind(2, metric)
            .bind(3, correlation)
            .bind(4, stored_count(sum.values))
            .run();
      }
    }
  }
  if (kind == CodeKind::pc_samples) return add_totals(context, process, *values, by_launch);
  if (values->places.empty()) {
    context.whole = true;
  } else {
    counts_.add(process.process_id, "sass_instructions", values->places.size());
  }
}

std::pair<std::int64_t, bool> CodeValueWriter::row_of(Share::OfKind& of_kind,
                                                      const Share::Place& place,
                                                      std::int64_t& last) {
  if (of_kind.rows.size() >= most_rows) of_kind.rows.clear();
  const auto [row, fresh] = of_kind.rows.try_emplace(place, last + 1);
  last += fresh;
  return {row->second, fresh};
}

// --- PC samples

void CodeValueWriter::add_samples(Share::OfKind& of_kind, const RowContext& process,
                                  const Share::Place& place, std::int64_t correlation,
                                  const Sums& sums) {
  // Launches that are distinguished have rows of their own.
  const auto [row, fresh] =
      correlation == 0 ? row_of(of_kind, place, last_row_) : std::pair(++last_row_, true);
  if (!fresh) {
    update_samples_.bind(1, row)
        .bind(2, stored_count(sums.not_issued))
        .bind(3, stored_count(sums.values))
        .run();
    return;
  }
  insert_samples_.bind(1, row)
      .bind(2, correlation)
      .bind(3, place.function)
      .bind(4, stored_count(sums.not_issued))
      .bind(5, stored_count(sums.values))
      .bind(6, reason_kinds_[place.reason])
      .bind(7, stored_count(place.offset))
      .bind(8, place.reason)
      .bind(9, std::int64_t{place.device})
      .bind(10, process.process_id)
      .run();
}

void CodeValueWriter::insert_totals(Share::Context& context, std::uint32_t id,
                                    const RowContext& process) {
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
      .bind(3, std::int64_t{id})
      .bind(4, std::int64_t{context.device})
      .bind(5, process.process_id)
      .run();
}

void CodeValueWriter::add_totals(const Share::Context& context, const RowContext& process,
                                 const wire::CodeValues& samples,
                                 const std::map<std::int64_t, std::uint64_t>& by_launch) {
  counts_.add(process.process_id, "pc_samples", samples.total);
  if (samples.others) counts_.add(process.process_id, "pc_samples_of_others", samples.others);
  if (samples.dropped) counts_.add(process.process_id, "pc_samples_dropped", samples.dropped);
  if (samples.overflow) counts_.add(process.process_id, "pc_samples_overflows");
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
        .bind(6, std::int64_t{context.device})
        .bind(7, process.process_id)
        .run();
  }
}

// --- SASS metrics

std::int64_t CodeValueWriter::instruction_id(Share::OfKind& of_kind, const RowContext& process,
                                             const Share::Place& place) {
  const auto [id, fresh] = row_of(of_kind, place, last_instruction_);
  if (fresh) {
    insert_instruction_.bind(1, id)
        .bind(2, place.function)
        .bind(3, stored_count(place.offset))
        .bind(4, std::int64_t{place.device})
        .bind(5, process.process_id)
        .run();
  }
  return id;
}

void CodeValueWriter::end(const Share& share, const RowContext& process) {
  const auto lost = std::ranges::count_if(share.kinds_[index(CodeKind::sass_metrics)].contexts,
                                          [](const auto& entry) { return !entry.second.whole; });
  if (lost > 0) {
    counts_.add(process.process_id, "sass_contexts_lost", static_cast<std::uint64_t>(lost));
  }
}

// --- nvprof's tables

void fill_source_level_tables(Database& database) {
  namespace sass = schema::sass;
  if (!database.integer("SELECT 1 FROM main.SASS_VALUE LIMIT 1")) return;
  // Not sum(), which fails on overflow.
  const auto of = [](std::string_view metric) {
    return "CAST(total(CASE WHEN m.name = '" + std::string(metric) +
           "' THEN v.value END) AS INTEGER)";
  };
  const auto flags = [&](std::string_view load) {
    return "(" + of(load) + " > 0) * " + std::to_string(schema::access_is_load);
  };
  // Instructions that have one of these metrics; a value of 0 has no row.
  const auto having = [](std::initializer_list<std::string_view> metrics) {
    std::string names;
    for (const std::string_view metric : metrics) {
      names += (names.empty() ? "'" : ", '") + std::string(metric) + "'";
    }
    return "(i.processId, i.functionId, i.pcOffset) IN (SELECT j.processId, j.functionId, "
           "j.pcOffset FROM main.SASS_VALUE AS w "
           "JOIN main.SASS_INSTRUCTION AS j ON j.id = w.instructionId WHERE w.metricId IN "
           "(SELECT id FROM main.SASS_METRIC WHERE name IN (" +
           names + ")))";
  };
  const auto fill = [&](std::string_view table, const std::string& columns,
                        const std::string& values, const std::string& which) {
    database.execute("INSERT INTO main.CUPTI_ACTIVITY_KIND_" + std::string(table) +
                     "(sourceLocatorId, correlationId, functionId, pcOffset, processId, " +
                     columns +
                     ") SELECT max(i.sourceLocatorId), v.correlationId, i.functionId, i.pcOffset, "
                     "i.processId, " +
                     values +
                     " FROM main.SASS_VALUE AS v "
                     "JOIN main.SASS_INSTRUCTION AS i ON i.id = v.instructionId "
                     "JOIN main.SASS_METRIC AS m ON m.id = v.metricId WHERE " +
                     which + " GROUP BY i.processId, i.functionId, i.pcOffset, v.correlationId");
  };
  fill("INSTRUCTION_EXECUTION", "flags, executed, threadsExecuted, notPredOffThreadsExecuted",
       "0, " + of(sass::executed) + ", " + of(sass::threads) + ", " + of(sass::threads_on),
       "m.name IN ('" + std::string(sass::executed) + "', '" + std::string(sass::threads) + "', '" +
           std::string(sass::threads_on) + "')");
  fill("GLOBAL_ACCESS",
       "flags, executed, threadsExecuted, l2_transactions, theoreticalL2Transactions",
       flags(sass::global_load) + ", " + of(sass::executed) + ", " + of(sass::threads_on) + ", " +
           of(sass::sectors) + ", " + of(sass::sectors_ideal),
       having({sass::global, sass::sectors}));
  fill("SHARED_ACCESS",
       "flags, executed, threadsExecuted, sharedTransactions, theoreticalSharedTransactions",
       flags(sass::shared_load) + ", " + of(sass::executed) + ", " + of(sass::threads_on) + ", " +
           of(sass::wavefronts) + ", " + of(sass::wavefronts_ideal),
       having({sass::shared, sass::wavefronts}));
  fill("BRANCH", "executed, threadsExecuted, diverged",
       of(sass::executed) + ", " + of(sass::threads) + ", " + of(sass::divergent),
       having({sass::branch, sass::divergent, sass::uniform}));
}

}  // namespace gpuprof::store
