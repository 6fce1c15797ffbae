#include "libprof/store/sass_metric_writer.hpp"

#include <algorithm>
#include <initializer_list>

#include "libprof/wire/limits.hpp"
#include "schema/sass_metrics.hpp"

namespace gpuprof::store {
namespace {

// Instructions remembered per stream: 100 MB. Beyond that, new rows begin.
constexpr std::size_t most_instructions = std::size_t{1} << 20;

}  // namespace

SassMetricWriter::SassMetricWriter(Database& database, CodeFunctions& functions, Counts& counts)
    : database_(database),
      functions_(functions),
      counts_(counts),
      insert_instruction_(database.prepare(
          "INSERT INTO SASS_INSTRUCTION(id, sourceLocatorId, functionId, pcOffset, "
          "deviceId, processId) VALUES(?1, 0, ?2, ?3, ?4, ?5)")),
      insert_value_(
          database.prepare("INSERT INTO SASS_VALUE(instructionId, metricId, correlationId, value) "
                           "VALUES(?1, ?2, ?3, ?4)")) {}

void SassMetricWriter::load_metrics(Share& share, const RowContext& process,
                                    std::span<const std::byte> payload) {
  const auto metrics = wire::decode_sass_metrics(payload);
  if (!metrics) return counts_.add(process.process_id, malformed_frames);
  if (share.contexts_.size() >= wire::max_code_contexts) {
    return counts_.add(process.process_id, left_out);
  }
  const auto [entry, fresh] = share.contexts_.try_emplace(metrics->context);
  if (!fresh) return counts_.add(process.process_id, malformed_frames);
  entry->second.device = metrics->device;
  for (const wire::SassMetric& metric : metrics->metrics) {
    entry->second.metrics.push_back(metric_id(metric));
  }
}

std::int64_t SassMetricWriter::metric_id(const wire::SassMetric& metric) {
  if (const auto known = metrics_.find(metric.name); known != metrics_.end()) return known->second;
  if (metrics_.size() >= wire::max_sass_metrics) return 0;
  const auto id = static_cast<std::int64_t>(metrics_.size() + 1);
  metrics_.emplace(metric.name, id);
  std::string_view differs = metric.name;
  if (differs.starts_with(schema::sass_prefix)) differs.remove_prefix(schema::sass_prefix.size());
  database_.prepare("INSERT INTO SASS_METRIC VALUES(?1, ?2, ?3, ?4)")
      .bind(1, id)
      .bind(2, metric.name)
      .bind(3, differs)
      .bind(4, metric.description)
      .run();
  return id;
}

std::int64_t SassMetricWriter::instruction_id(Share& share, const RowContext& process,
                                              const Share::Place& place) {
  if (share.instructions_.size() >= most_instructions) share.instructions_.clear();
  const auto [entry, fresh] = share.instructions_.try_emplace(place, last_instruction_ + 1);
  if (!fresh) return entry->second;
  const auto& [function, offset, device] = place;
  insert_instruction_.bind(1, ++last_instruction_)
      .bind(2, function)
      .bind(3, stored_count(offset))
      .bind(4, std::int64_t{device})
      .bind(5, process.process_id)
      .run();
  return entry->second;
}

void SassMetricWriter::load_values(Share& share, CodeFunctions::Share& names, RowContext& process,
                                   std::span<const std::byte> payload) {
  const auto values = wire::decode_sass_values(payload);
  const auto found = values ? share.contexts_.find(values->context) : share.contexts_.end();
  if (found == share.contexts_.end()) return counts_.add(process.process_id, malformed_frames);
  Share::Context& context = found->second;
  context.whole |= values->places.empty();
  std::vector<std::int64_t> functions;
  for (const wire::CodeFunction& function : values->functions) {
    functions.push_back(functions_.id(names, process, values->context, function));
  }
  const std::int64_t correlation = process.correlation(values->correlation);
  for (const wire::SassPlace& place : values->places) {
    const std::int64_t function = functions[place.function - 1];
    if (function == 0) {
      counts_.add(process.process_id, left_out);
      continue;
    }
    const std::int64_t instruction =
        instruction_id(share, process, {function, place.offset, context.device});
    for (std::uint32_t i = 0; i < place.count; ++i) {
      const wire::SassValue& value = values->values[place.first + i];
      const std::int64_t metric = value.metric == 0 || value.metric > context.metrics.size()
                                      ? 0
                                      : context.metrics[value.metric - 1];
      if (metric == 0) {
        counts_.add(process.process_id, left_out);
        continue;
      }
      insert_value_.bind(1, instruction)
          .bind(2, metric)
          .bind(3, correlation)
          .bind(4, stored_count(value.value))
          .run();
    }
  }
  if (values->places.empty()) return;
  counts_.add(process.process_id, "sass_instructions", values->places.size());
}

void SassMetricWriter::end(const Share& share, const RowContext& process) {
  const auto lost =
      std::ranges::count_if(share.contexts_, [](const auto& entry) { return !entry.second.whole; });
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
