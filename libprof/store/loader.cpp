#include "libprof/store/loader.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "libprof/base/demangle.hpp"
#include "libprof/base/error.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/store/nvtx_payloads.hpp"
#include "libprof/store/nvtx_ranges.hpp"
#include "libprof/wire/batch_parts.hpp"
#include "libprof/wire/job.hpp"
#include "libprof/wire/limits.hpp"
#include "libprof/wire/stream_error.hpp"
#include "schema/activity/all.hpp"
#include "schema/database.hpp"
#include "schema/run.hpp"
#include "schema/statistics.hpp"

namespace gpuprof::store {
namespace {

constexpr schema::StatisticName malformed_frames = "frames_malformed";
constexpr schema::StatisticName not_profiled = "not_profiled";
constexpr schema::StatisticName stream_cut = "stream_cut";
constexpr schema::StatisticName left_out = "stream_limited";
constexpr schema::StatisticName refused_frames = "stream_refused";
constexpr schema::StatisticName not_demangled = "names_not_demangled";
constexpr schema::StatisticName records_received = "records_received";
constexpr schema::StatisticName records_without_times = "records_without_times";

// Whether a statistic counts what is missing. The first of these say of rows that are there what is
// amiss with them; records_without_times counts them too.
bool counts_missing(std::string_view name) {
  constexpr std::array<schema::StatisticName, 6> others{
      "incomplete_records", "strings_lost", "bytes_discarded",
      "not_profiled",       "stream_cut",   "cupti_second_client"};
  const schema::StatisticInfo* info = schema::find_statistic(name);
  return info && info->severity >= schema::Severity::data_loss &&
         std::ranges::find(others, name, &schema::StatisticName::name) == others.end();
}

// No number of things counted is this high; sums of such stay in 64 bits.
constexpr std::uint64_t highest_count = std::uint64_t{1} << 53;

// For names that are still with the demangler at the end; each may take it half a second.
constexpr std::chrono::seconds readable_names_patience{10};

// Keys of RUN that a frame may bring. A file's own state is not told by what is loaded into it.
bool may_be_told(std::string_view key) {
  for (const std::string_view own :
       {"schema_version", "finished", "loss", "zero_ns", "derived_from"}) {
    if (key == own) return false;
  }
  return std::ranges::find(schema::run_keys, key, &schema::KeyDoc::key) != schema::run_keys.end();
}

// In place of a process's number, where there is no process of the run.
constexpr std::int64_t no_number = -1;

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 19 && text != "-" &&
         text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) == text.npos;
}

// Captures of older collectors have other names for some columns.
void use_current_names(wire::WireTable& table) {
  const auto kind = std::ranges::find_if(
      schema::kinds, [&](const schema::KindRef& each) { return each.table->name == table.name; });
  if (kind == schema::kinds.end()) return;
  for (wire::WireColumn& column : table.columns) {
    column.name = schema::current_name(*kind->table, column.name);
  }
}

}  // namespace

struct Loader::Stream {
  struct Definition {
    wire::WireTable table;
    std::string text;
  };
  std::map<std::uint32_t, Definition> definitions;  // by the stream's table id
  std::size_t definition_bytes = 0;
  std::map<std::uint32_t, StreamTables::Writer*> writers;  // of those that rows came for
  StreamTables::Share share;
  std::map<std::pair<std::string, std::string>, std::uint64_t> counted;  // by the collector
  std::size_t clocks = 0;
  std::size_t api_names = 0;
  std::size_t payload_entries = 0;
  wire::BatchParts parts;
};

struct Loader::Process {
  RowContext context;
  bool said_hello = false;
  bool sampler = false;  // and no process of the run
  bool refused = false;
  bool salvaged = false;
  std::size_t diagnostics = 0;
  std::unique_ptr<Stream> stream;  // null: it is over, or refused
};

void make_empty_profile(Database& database, bool live) {
  database.execute("PRAGMA page_size = 16384");
  database.execute("PRAGMA journal_mode = DELETE");
  database.execute("PRAGMA synchronous = OFF");
  database.execute("PRAGMA application_id = " + std::to_string(schema::application_id));
  database.execute("PRAGMA user_version = " + std::to_string(schema::schema_version));
  database.execute("BEGIN");
  create_schema(database);
  database.prepare("INSERT INTO RUN VALUES('schema_version', ?1), ('finished', 0)")
      .bind(1, std::int64_t{schema::schema_version})
      .run();
  database.execute("COMMIT");
  // A write-ahead log lets others read all the time. A crash of this process harms neither; only a
  // crash of the machine could, and then the run is gone anyway. It comes last, so that nothing is
  // left in it when the file is closed: that would not tell of a full disk.
  if (live) database.execute("PRAGMA journal_mode = WAL");
}

Loader::Loader(Database database, LoaderOptions options)
    : database_(std::move(database)), options_(std::move(options)) {
  if (options_.when_locked) database_.when_locked(options_.when_locked);
  if (!database_.has_table("RUN")) make_empty_profile(database_, options_.live);
  database_.execute("PRAGMA synchronous = OFF");
  database_.execute("PRAGMA cache_size = -65536");
  database_.execute("PRAGMA wal_autocheckpoint = 4000");
  database_.execute("PRAGMA temp_store = MEMORY");
  database_.execute("PRAGMA secure_delete = OFF");  // Debian's SQLite has it on
  register_packed_rows(database_);
  begin();
  tables_ = std::make_unique<StreamTables>(database_);
  statistics_ = std::make_unique<StatisticWriter>(database_);
  strings_ = std::make_unique<StringWriter>(database_, options_.string_cache_bytes);
  metrics_ = std::make_unique<MetricWriter>(database_);
  commit();
}

Loader::~Loader() = default;

void Loader::begin() {
  if (in_transaction_) return;
  database_.execute("BEGIN IMMEDIATE");
  in_transaction_ = true;
}

void Loader::load(const wire::Frame& frame) {
  begin();
  if (frame.stream == wire::run_stream) return load_of_run(frame);
  const bool sampler = frame.type == wire::FrameType::hello &&
                       wire::decode_hello(frame.payload()).role() == wire::Role::sampler;
  Process* process = this->process(frame.stream, sampler);
  if (!process) return add(0, "", left_out, 1);
  if (process->refused && frame.type != wire::FrameType::stream_end) {
    return count(*process, refused_frames);
  }
  try {
    load_of_stream(*process, frame);
  } catch (const wire::StreamError& error) {
    refuse(*process, error.what());
  } catch (const DatabaseError& error) {
    // Whatever else it is, the next frame would fare no better.
    if (!error.of_statement() || !database_.in_transaction()) throw;
    refuse(*process, error.what());
  } catch (const std::bad_alloc&) {
    refuse(*process, "there is not enough memory for what it sends");
  }
}

void Loader::load_of_run(const wire::Frame& frame) {
  if (frame.type == wire::FrameType::run) return load_run(frame);
  const bool sound =
      frame.type == wire::FrameType::metrics && metrics_->load_metrics(frame.payload());
  if (!sound) add(0, "", malformed_frames, 1);
}

void Loader::load_of_stream(Process& process, const wire::Frame& frame) {
  if (wire::is_oversized(frame.type, frame.length)) return count(process, malformed_frames);
  switch (frame.type) {
    case wire::FrameType::goodbye:
      return database_.prepare("UPDATE PROCESS SET goodbye = 1 WHERE number = ?1")
          .bind(1, process.context.numbers[0])
          .run();
    case wire::FrameType::stream_end: return load_stream_end(process, frame);
    // Also behind the end of the stream: later runs of the program were measured.
    case wire::FrameType::rows: return load_own_rows(process, frame);
    case wire::FrameType::hello:
    case wire::FrameType::info:
    case wire::FrameType::table:
    case wire::FrameType::api_names:
    case wire::FrameType::payload_schema:
    case wire::FrameType::batch:
    case wire::FrameType::batch_part:
    case wire::FrameType::clock:
    case wire::FrameType::statistics:
      if (process.stream) break;
      [[fallthrough]];
    case wire::FrameType::run:
    case wire::FrameType::metrics: return count(process, malformed_frames);
    default: return;  // config, arena, counter_data, and what later versions may bring
  }
  switch (frame.type) {
    case wire::FrameType::hello: return load_hello(process, frame);
    case wire::FrameType::info: return load_info(process, frame);
    case wire::FrameType::table: return load_table(process, frame);
    case wire::FrameType::api_names: return load_api_names(process, frame);
    case wire::FrameType::payload_schema: return load_payload_schema(process, frame);
    case wire::FrameType::batch: return load_batch(process, frame.payload());
    case wire::FrameType::batch_part: return load_batch_part(process, frame);
    case wire::FrameType::clock: return load_clock(process, frame);
    default: return load_statistics(process, frame);
  }
}

// `sampler`: whether it is one, if it is new.
Loader::Process* Loader::process(std::uint32_t stream, bool sampler) {
  const auto known = processes_.find(stream);
  if (known != processes_.end()) return known->second.get();
  if (processes_.size() >= wire::max_streams) return nullptr;
  auto process = std::make_unique<Process>();
  process->stream = std::make_unique<Stream>();
  process->sampler = sampler;
  // Numbers are for targets alone: the first one's is 0, so that it keeps CUPTI's own ids.
  process->context.numbers.push_back(sampler ? no_number : next_number());
  process->context.next_number = [this, sampler] { return sampler ? no_number : next_number(); };
  if (!sampler) ++totals_.processes;
  return processes_.emplace(stream, std::move(process)).first->second.get();
}

std::int64_t Loader::next_number() { return ++last_number_; }

void Loader::refuse(std::uint32_t stream, const std::string& why) {
  if (Process* process = this->process(stream)) refuse(*process, why);
}

void Loader::refuse(Process& process, const std::string& why) {
  if (std::exchange(process.refused, true)) return;
  end_stream(process);
  process.context.string_ids.clear();
  process.context.byte_strings = {};
  count(process, refused_frames);
  const std::string text = why + "; nothing more of this process is recorded";
  diagnose(process, refused_frames.name(), schema::Severity::data_loss, text);
  if (options_.message) options_.message(process.context.process_id, text);
}

void Loader::diagnose(Process& process, std::string_view statistic, schema::Severity severity,
                      std::string_view text, std::int64_t time) {
  if (process.diagnostics >= wire::max_diagnostics ||
      !add_diagnostic(process.context.process_id, statistic, severity, text, time)) {
    return count(process, left_out);
  }
  ++process.diagnostics;
}

bool Loader::add_diagnostic(std::int64_t process_id, std::string_view statistic,
                            schema::Severity severity, std::string_view text, std::int64_t time) {
  if (diagnostics_ >= wire::max_run_diagnostics) return false;
  ++diagnostics_;
  Statement insert = database_.prepare(
      "INSERT INTO DIAGNOSTIC(time, processId, severity, statistic, text) "
      "VALUES(nullif(?1, 0), ?2, ?3, nullif(?4, ''), ?5)");
  insert.bind(1, time)
      .bind(2, process_id)
      .bind(3, schema::severity_name(severity))
      .bind(4, schema::find_statistic(statistic) ? statistic : "")
      .bind(5, text.substr(0, wire::max_diagnostic_bytes))
      .run();
  return true;
}

void Loader::explain(schema::StatisticName statistic, std::string_view text) {
  begin();
  const schema::StatisticInfo* info = schema::find_statistic(statistic.name());
  add_diagnostic(0, statistic.name(), info->severity, text, 0);
}

void Loader::end_stream(Process& process) {
  if (!process.stream) return;
  if (const std::size_t held = process.stream->parts.held()) {
    parts_bytes_ -= held;
    count(process, malformed_frames);  // the rest of the batch never came
  }
  process.stream.reset();
}

void Loader::load_run(const wire::Frame& frame) {
  wire::Decoder decoder(frame.payload());
  const wire::Fields fields = decoder.fields();
  for (const auto& [key, value] : fields) {
    if (!may_be_told(key)) continue;
    if (is_number(value)) {
      set_run(key, static_cast<std::int64_t>(std::stoll(value)));
    } else {
      set_run(key, std::string_view(value));
    }
  }
  // The launcher knows how the target ended; of its children it learns nothing.
  for (const std::string_view column : {"exit_status", "exit_signal"}) {
    if (!fields.find(column) || !fields.find("target_process_id")) continue;
    database_.prepare("UPDATE PROCESS SET " + std::string(column) + " = ?2 WHERE processId = ?1")
        .bind(1, fields.integer("target_process_id"))
        .bind(2, fields.integer(column))
        .run();
  }
  if (!decoder.ok()) add(0, "", malformed_frames, 1);
}

void Loader::load_hello(Process& process, const wire::Frame& frame) {
  const wire::Hello said = wire::decode_hello(frame.payload());
  if (!said.whole || process.said_hello) return count(process, malformed_frames);
  process.said_hello = true;
  process.context.process_id = said.process_id();
  if (!process.sampler) insert_process(process, said.fields);
  if (said.version > wire::version) {
    throw wire::StreamError("its collector speaks wire version " + std::to_string(said.version) +
                            ", this gpuprof only up to " + std::to_string(wire::version) +
                            " (use the gpuprof that came with that collector, or a newer one)");
  }
}

void Loader::insert_process(const Process& process, const wire::Fields& hello) {
  Statement insert = database_.prepare(
      "INSERT INTO PROCESS(processId, number, parentProcessId, executable, command_line, "
      "goodbye, salvaged, rank, worldSize, localRank, jobLauncher, job) "
      "VALUES(?1, ?2, ?3, ?4, ?5, 0, 0, ?6, ?7, ?8, ?9, nullif(?10, ''))");
  insert.bind(1, process.context.process_id)
      .bind(2, process.context.numbers[0])
      .bind(3, hello.integer("parent_process_id"))
      .bind(4, hello.text("executable"));
  if (const auto command_line = hello.find("command_line")) insert.bind(5, *command_line);
  if (const auto job = wire::job_of(hello)) {
    insert.bind(6, job->rank).bind(9, job->launcher).bind(10, job->id);
    if (job->world_size) insert.bind(7, *job->world_size);
    if (job->local_rank) insert.bind(8, *job->local_rank);
  }
  insert.run();
}

void Loader::load_info(Process& process, const wire::Frame& frame) {
  wire::Decoder decoder(frame.payload());
  const wire::Fields fields = decoder.fields();
  if (!decoder.ok()) return count(process, malformed_frames);
  if (const auto kind = fields.find("unavailable")) {
    set_counted(process, kind->substr(0, kind->find(':')),
                schema::StatisticName("kind_unavailable").name(), 1);
  }
  if (fields.find("error")) set_counted(process, "", not_profiled.name(), 1);
  load_diagnostics(process, fields);
  if (const auto functions = fields.find("calls_left_out")) {
    // Of processes with different libcuptis, that of the one that left something out.
    database_
        .prepare(
            "INSERT INTO RUN VALUES('calls_left_out', ?1) "
            "ON CONFLICT(key) DO UPDATE SET value = excluded.value WHERE value = 'none'")
        .bind(1, *functions)
        .run();
  }
  for (const std::string_view column : {"cupti_version", "cupti_path", "driver_version"}) {
    const auto value = fields.find(column);
    if (!value) continue;
    Statement update =
        database_.prepare("UPDATE PROCESS SET " + std::string(column) + " = ?2 WHERE number = ?1");
    update.bind(1, process.context.numbers[0]);
    if (column == "cupti_path") {
      update.bind(2, *value);
    } else {
      update.bind(2, fields.integer(column));
    }
    update.run();
  }
}

// What a collector, or the launcher about its stream, has to say in words.
void Loader::load_diagnostics(Process& process, const wire::Fields& fields) {
  struct Told {
    std::string_view field;
    schema::Severity severity;
    std::string_view statistic;
  };
  using enum schema::Severity;
  const Told kinds[] = {
      {"error", error, not_profiled.name()},
      {"warning", notice, ""},
      {"metrics_error", notice, schema::StatisticName("metrics_skipped_failed").name()},
      {"lost", data_loss, fields.text("statistic")},
  };
  for (const Told& told : kinds) {
    const auto text = fields.find(told.field);
    if (text) diagnose(process, told.statistic, told.severity, *text, fields.integer("time"));
  }
}

void Loader::load_table(Process& process, const wire::Frame& frame) {
  auto table = wire::decode_table(frame.payload());
  if (!table || !tables_->takes_rows(table->name)) return count(process, malformed_frames);
  use_current_names(*table);
  Stream& stream = *process.stream;
  const std::uint32_t id = table->id;
  const auto known = stream.definitions.find(id);
  const std::size_t before = known == stream.definitions.end() ? 0 : known->second.text.size();
  const std::size_t bytes = stream.definition_bytes - before + frame.length;
  stream.writers.erase(id);
  if (bytes > wire::max_definition_bytes ||
      (before == 0 && stream.definitions.size() >= wire::max_definitions)) {
    stream.definitions.erase(id);
    stream.definition_bytes -= before;
    return count(process, left_out);
  }
  stream.definition_bytes = bytes;
  const auto payload = frame.payload();
  stream.definitions[id] = {
      std::move(*table),
      std::string(reinterpret_cast<const char*>(payload.data()), payload.size())};
}

StreamTables::Writer* Loader::writer_for(Process& process, const wire::Block& block) {
  Stream& stream = *process.stream;
  auto writer = stream.writers.find(block.table);
  if (writer == stream.writers.end()) {
    const auto definition = stream.definitions.find(block.table);
    if (definition == stream.definitions.end()) {  // rows of a table nobody defined
      count(process, malformed_frames);
      return nullptr;
    }
    const auto& [table, text] = definition->second;
    writer =
        stream.writers.emplace(block.table, tables_->writer_for(table, text, stream.share)).first;
  }
  if (!writer->second) {
    count(process, left_out, block.rows, stream.definitions[block.table].table.name);
  }
  return writer->second;
}

void Loader::load_batch_part(Process& process, const wire::Frame& frame) {
  wire::BatchParts& parts = process.stream->parts;
  parts_bytes_ -= parts.held();
  const auto added = parts.add(frame.payload(), wire::max_joined_batch - parts_bytes_);
  parts_bytes_ += parts.held();
  switch (added) {
    case wire::BatchParts::Added::more: return;
    case wire::BatchParts::Added::malformed: return count(process, malformed_frames);
    case wire::BatchParts::Added::too_long: return count(process, left_out);
    case wire::BatchParts::Added::whole: break;
  }
  parts_bytes_ -= parts.held();
  load_batch(process, parts.take());
}

void Loader::load_batch(Process& process, std::span<const std::byte> payload) {
  const auto batch = wire::decode_batch(payload);
  if (!batch) return count(process, malformed_frames);
  RowContext& context = process.context;
  for (const wire::Block& block : batch->blocks) {
    if (block.table == wire::string_block || block.table == wire::bytes_block) {
      load_strings(process, block);
    } else {
      load_rows(process, block, batch->header.flags);
    }
  }
  end_batch(process);
}

void Loader::end_batch(Process& process) {
  process.context.byte_strings.clear();
  if (const std::uint64_t lost = std::exchange(process.context.correlations_lost, 0)) {
    count(process, left_out, lost);
  }
}

void Loader::load_strings(Process& process, const wire::Block& block) {
  const auto strings = wire::decode_strings(block);
  if (!strings) return count(process, malformed_frames);
  RowContext& context = process.context;
  if (block.table == wire::string_block) {
    for (const wire::WireString& string : *strings) {
      context.string_ids.set(string.id, strings_->id(string.text));
    }
    return;
  }
  for (const wire::WireString& string : *strings) {
    if (context.byte_strings.size() >= wire::max_byte_strings) {
      return count(process, malformed_frames);
    }
    context.byte_strings[string.id] = string.text;
  }
}

bool Loader::fits(const StreamTables::Writer& writer, const wire::Block& block) {
  return block.bytes.size() == block.rows * writer.source.row_width;
}

std::size_t Loader::insert(Process& process, StreamTables::Writer& writer,
                           const wire::Block& block) {
  writer.source.rows = block.bytes.data();
  writer.source.count = block.rows;
  writer.source.context = &process.context;
  writer.insert.run();
  return database_.changes();
}

void Loader::load_rows(Process& process, const wire::Block& block, std::uint32_t flags) {
  StreamTables::Writer* writer = writer_for(process, block);
  if (!writer) return;
  const std::string& table = writer->table;
  if (flags & wire::batch_discarded) {
    return count(process, "records_discarded", block.rows, table);
  }
  if (!fits(*writer, block)) return count(process, malformed_frames);
  insert(process, *writer, block);
  count(process, records_received, block.rows, table);
  if (flags & wire::batch_salvaged) {
    process.salvaged = true;
    count(process, "records_salvaged", block.rows, table);
  }
  if (const StreamTables::Times& times = writer->times; times.there) {
    std::uint64_t without = 0;
    for (std::size_t i = 0; i < block.rows; ++i) {
      const std::byte* row = block.bytes.data() + i * writer->source.row_width;
      without += (wire::load<std::uint64_t>(row + times.start) |
                  wire::load<std::uint64_t>(row + times.end)) == 0;
    }
    if (without) count(process, records_without_times, without, table);
  }
  if (const auto first = writer->times.of_run) {
    for (std::size_t i = 0; i < block.rows; ++i) {
      // 0, which stands for none, is the highest then.
      const std::byte* time = block.bytes.data() + i * writer->source.row_width + *first;
      before_zero_ = std::min(before_zero_, wire::load<std::uint64_t>(time) - 1);
    }
  }
}

void Loader::load_own_rows(Process& process, const wire::Frame& frame) {
  auto rows = wire::decode_own_rows(frame.payload());
  if (!rows) return count(process, malformed_frames);
  std::map<std::uint32_t, StreamTables::Writer*> writers;
  for (const auto& [table, text] : rows->tables) {
    const bool fits = StreamTables::takes_own_rows(table.name) || tables_->takes_rows(table.name);
    if (!fits) return count(process, malformed_frames);
    writers[table.id] = tables_->writer_for(table, text, own_share_);
  }
  // The frame has strings of its own.
  RowContext& context = process.context;
  StringIds of_stream = std::exchange(context.string_ids, {});
  std::uint64_t left_over = 0;
  for (const wire::Block& block : rows->batch.blocks) {
    if (block.table == wire::string_block || block.table == wire::bytes_block) {
      load_strings(process, block);
    } else if (const auto writer = writers.find(block.table);
               writer == writers.end() || !writer->second || !fits(*writer->second, block)) {
      count(process, malformed_frames);
    } else {
      left_over += block.rows - insert(process, *writer->second, block);
    }
  }
  context.string_ids = std::move(of_stream);
  end_batch(process);
  if (left_over) count(process, left_out, left_over);
}

void Loader::load_api_names(Process& process, const wire::Frame& frame) {
  const auto names = wire::decode_api_names(frame.payload());
  if (!names) return count(process, malformed_frames);
  Statement insert = database_.prepare("INSERT OR IGNORE INTO API_NAME VALUES(?1, ?2, ?3)");
  std::uint64_t over = 0;
  for (const wire::ApiName& name : *names) {
    const bool fits = process.stream->api_names < wire::max_stream_api_names &&
                      name.cbid < wire::max_callback_id && name.domain.size() <= wire::max_name &&
                      name.name.size() <= wire::max_name;
    if (!fits) {
      ++over;
      continue;
    }
    ++process.stream->api_names;
    insert.bind(1, name.domain).bind(2, std::int64_t{name.cbid}).bind(3, name.name).run();
  }
  if (over) count(process, left_out, over);
}

void Loader::load_payload_schema(Process& process, const wire::Frame& frame) {
  const auto schema = wire::decode_payload_schema(frame.payload());
  if (!schema) return count(process, malformed_frames);
  Statement insert = database_.prepare(
      "INSERT OR IGNORE INTO NVTX_PAYLOAD_ENTRY VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
      "?11, ?12)");
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  std::int64_t place = 0;
  std::uint64_t over = 0;
  for (const wire::PayloadEntry& entry : schema->entries) {
    const bool fits = process.stream->payload_entries < wire::max_stream_payload_entries &&
                      schema->name.size() <= wire::max_name && entry.name.size() <= wire::max_name;
    if (!fits) {
      ++over;
      continue;
    }
    ++process.stream->payload_entries;
    insert.bind(1, process.context.process_id).bind(2, std::int64_t{schema->domain});
    insert.bind(3, number(schema->id)).bind(4, std::int64_t{schema->is_enum});
    insert.bind(5, schema->name).bind(6, number(schema->size)).bind(7, place++);
    insert.bind(8, entry.name).bind(9, number(entry.type)).bind(10, number(entry.flags));
    insert.bind(11, number(entry.length)).bind(12, number(entry.offset)).run();
  }
  if (over) count(process, left_out, over);
}

void Loader::load_clock(Process& process, const wire::Frame& frame) {
  const auto clock = wire::decode_clock(frame.payload());
  if (!clock) return count(process, malformed_frames);
  if (process.stream->clocks++ >= wire::max_clocks) return count(process, left_out);
  constexpr std::string_view moments[]{"first", "last", "meanwhile"};
  database_
      .prepare(
          "INSERT INTO CLOCK VALUES(?1, ?2, ?3, ?4, ?5, nullif(?6, 0), nullif(?7, 0), "
          "nullif(?8, 0))")
      .bind(1, process.context.process_id)
      .bind(2, moments[static_cast<std::size_t>(clock->moment)])
      .bind(3, clock->realtime)
      .bind(4, clock->monotonic)
      .bind(5, clock->cupti)
      .bind(6, clock->monotonic_raw)
      .bind(7, clock->ticks)
      .bind(8, clock->realtime_error)
      .run();
}

void Loader::load_statistics(Process& process, const wire::Frame& frame) {
  const auto statistics = wire::decode_statistics(frame.payload());
  if (!statistics) return count(process, malformed_frames);
  for (const wire::Statistic& statistic : *statistics) {
    set_counted(process, statistic.kind, statistic.name, statistic.value);
  }
}

void Loader::load_stream_end(Process& process, const wire::Frame& frame) {
  // What the launcher counted of the stream.
  if (frame.length > 0) {
    const auto statistics = wire::decode_statistics(frame.payload());
    if (!statistics) return count(process, malformed_frames);
    for (const wire::Statistic& statistic : *statistics) {
      add(process.context.process_id, statistic.kind, statistic.name,
          static_cast<std::int64_t>(std::min(statistic.value, highest_count)));
    }
  }
  if (process.salvaged) {
    database_.prepare("UPDATE PROCESS SET salvaged = 1 WHERE number = ?1")
        .bind(1, process.context.numbers[0])
        .run();
  }
  // A run may have many processes: of one that is gone little is kept.
  end_stream(process);
  process.context.string_ids.clear();
  process.context.byte_strings = {};
}

void Loader::store_readable_names() {
  if (!strings_->has_readable_names()) return;
  begin();
  if (const std::size_t given_up = strings_->store_readable_names()) {
    add(0, "", not_demangled, static_cast<std::int64_t>(given_up));
  }
}

void Loader::set_run(std::string_view key, std::string_view value) {
  database_.prepare("INSERT OR REPLACE INTO RUN VALUES(?1, ?2)").bind(1, key).bind(2, value).run();
}

void Loader::set_run(std::string_view key, std::int64_t value) {
  database_.prepare("INSERT OR REPLACE INTO RUN VALUES(?1, ?2)").bind(1, key).bind(2, value).run();
}

void Loader::count(schema::StatisticName statistic, std::uint64_t value) {
  std::int64_t& known = own_counts_[std::string(statistic.name())];
  const auto now = static_cast<std::int64_t>(std::min(value, highest_count));
  add(0, "", statistic.name(), now - std::exchange(known, now));
}

void Loader::count(const Process& process, schema::StatisticName name, std::uint64_t more,
                   std::string_view kind) {
  add(process.context.process_id, kind, name.name(), static_cast<std::int64_t>(more));
}

void Loader::set_counted(Process& process, std::string_view kind, std::string_view name,
                         std::uint64_t value) {
  auto& counted = process.stream->counted;
  value = std::min(value, highest_count);
  std::pair<std::string, std::string> key{kind, name};
  const auto known = counted.find(key);
  if (known == counted.end()) {
    if (counted.size() >= wire::max_counted || kind.size() > wire::max_name ||
        name.size() > wire::max_name) {
      return count(process, left_out);
    }
    counted.emplace(std::move(key), value);
    return add(process.context.process_id, kind, name, static_cast<std::int64_t>(value));
  }
  const std::uint64_t before = std::exchange(known->second, value);
  if (before == value) return;
  add(process.context.process_id, kind, name, static_cast<std::int64_t>(value - before));
}

void Loader::add(std::int64_t process_id, std::string_view kind, std::string_view name,
                 std::int64_t difference) {
  statistics_->add(process_id, kind, name, difference);
  const auto more = static_cast<std::uint64_t>(difference);
  if (name == records_received.name()) {
    totals_.records += more;
  } else if (name == records_without_times.name()) {
    totals_.without_times += more;
  } else if (name == not_profiled.name()) {
    totals_.not_profiled += more;
  } else if (name == stream_cut.name()) {
    totals_.uncounted += more;
  } else if (counts_missing(name)) {
    totals_.missing += more;
  }
}

void Loader::commit() {
  store_readable_names();
  if (!in_transaction_) return;
  statistics_->write();
  database_.execute("COMMIT");
  in_transaction_ = false;
}

bool Loader::complete() {
  if (options_.hurried) {
    commit();
    database_.watch(options_.hurried);
  }
  bool whole = false;
  std::uint64_t open_ranges = 0;
  try {
    begin();
    name_objects(database_, options_.object_names,
                 [this](std::string_view text) { return strings_->id(text); });
    strings_->finish();
    open_ranges = compute_nvtx_ranges(database_);
    compute_nvtx_payloads(database_);
    if (options_.indexes) create_indexes(database_);
    whole = true;
  } catch (const DatabaseError& error) {
    if (error.kind() != DatabaseError::Kind::interrupted) throw;
    if (database_.in_transaction()) database_.execute("ROLLBACK");
    in_transaction_ = false;
  }
  if (options_.hurried) database_.watch({});
  if (whole && open_ranges > 0) add(0, "", left_out, static_cast<std::int64_t>(open_ranges));
  std::size_t missing = 0;
  const auto until = std::chrono::steady_clock::now() + readable_names_patience;
  do {
    missing = strings_->wait_for_readable_names(std::chrono::milliseconds(100));
  } while (missing > 0 && !hurried() && std::chrono::steady_clock::now() < until);
  if (missing > 0) add(0, "", not_demangled, static_cast<std::int64_t>(missing));
  return whole;
}

void Loader::finish() {
  const bool whole = complete();
  begin();
  set_run("finished", whole);
  if (before_zero_ < INT64_MAX) set_run("zero_ns", static_cast<std::int64_t>(before_zero_ + 1));
  set_run("loss", !totals_.lossless());
  commit();
  // Nothing of ours may hold the file while the log is folded in.
  tables_->close();
  statistics_.reset();
  metrics_.reset();
  strings_.reset();
  // SQLite does not wait here for a reader to close the file: it is asked again.
  database_.execute("PRAGMA busy_timeout = 0");
  constexpr auto patience = std::chrono::seconds(2);
  const auto began = std::chrono::steady_clock::now();
  while (!hurried()) {
    try {
      database_.execute("PRAGMA journal_mode = DELETE");
      return use_small_pages(database_);
    } catch (const Error&) {
      if (std::chrono::steady_clock::now() - began >= patience) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  // Somebody else has the file open. All is in it and in its log; SQLite folds the log in when the
  // last one closes the file, and only tools older than SQLite 3.7 cannot read it until then.
  still_open_ = true;
}

void Loader::move(const std::function<Database()>& move) {
  database_ = Database(":memory:", Database::Mode::create);
  database_ = move();
}

LoadTotals& LoadTotals::operator+=(const LoadTotals& other) {
  records += other.records;
  missing += other.missing;
  without_times += other.without_times;
  processes += other.processes;
  not_profiled += other.not_profiled;
  uncounted += other.uncounted;
  return *this;
}

}  // namespace gpuprof::store
