#include "libprof/store/loader.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <tuple>

#include "libprof/base/demangle.hpp"
#include "libprof/base/error.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/store/nvtx_ranges.hpp"
#include "schema/activity/all.hpp"
#include "schema/legacy.hpp"
#include "schema/session.hpp"

namespace gpuprof::store {
namespace {

std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

std::string lower(std::string_view name) {
  std::string text(name);
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return text;
}

// Rows go into tables of activity kinds and into new ones, not into views, tables of our own, or
// where an index will be.
bool takes_rows(Database& database, std::string_view table) {
  const std::string name = lower(table);
  if (name.starts_with("index_")) return false;
  for (const schema::SessionTable& own : schema::session_tables) {
    if (lower(own.name) == name) return false;
  }
  Statement view = database.prepare(
      "SELECT 1 FROM sqlite_master WHERE name = ?1 COLLATE NOCASE AND type = 'view'");
  view.bind(1, table);
  return !view.step();
}

// Memory for strings goes by their highest id. One this far beyond the last is a forged one, even
// if batches were lost between them.
constexpr std::size_t widest_gap = 1 << 20;

constexpr std::string_view malformed_frames = schema::StatisticName("frames_malformed");
constexpr std::string_view stream_cut = schema::StatisticName("stream_cut");
constexpr std::string_view not_profiled = schema::StatisticName("not_profiled");
constexpr std::string_view not_demangled = schema::StatisticName("names_not_demangled");
// For names that are still with the demangler at the end; each may take it half a second.
constexpr std::chrono::seconds readable_names_patience{10};

// SQLite's limit is 2000.
constexpr std::size_t most_columns = 1500;

// Where the start and end of GPU work lie in a row, to count the rows that have neither.
struct Times {
  std::size_t start = 0;
  std::size_t end = 0;
  bool there = false;
};

Times find_times(const wire::WireTable& table) {
  Times times;
  std::size_t at = 0;
  int found = 0;
  for (const wire::WireColumn& column : table.columns) {
    if (column.type == schema::Type::u64 && column.name == "start") times.start = at, ++found;
    const bool end = std::ranges::find(schema::end_columns, column.name) !=
                     std::ranges::end(schema::end_columns);
    if (column.type == schema::Type::u64 && end) times.end = at, ++found;
    at += column.width;
  }
  times.there = found == 2;
  return times;
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

struct Loader::Writer {
  std::string table;
  RowSource source;
  Statement insert;
  Times times;
};

struct Loader::Process {
  RowContext context;
  std::map<std::uint32_t, Writer*> writers;  // by the stream's table id
  std::map<std::uint32_t, std::pair<wire::WireTable, std::string>> tables;  // not written to yet
  std::map<std::string, std::uint64_t> received;                            // rows by table
  std::map<std::string, std::uint64_t> salvaged;
  std::map<std::string, std::uint64_t> without_times;
  std::map<std::string, std::uint64_t> discarded;                        // on the way here
  std::map<std::pair<std::string, std::string>, std::uint64_t> counted;  // by the collector
  std::uint64_t malformed = 0;
};

Loader::Loader(Database database, LoaderOptions options)
    : database_(std::move(database)), options_(std::move(options)) {
  if (options_.when_locked) database_.when_locked(options_.when_locked);
  database_.execute("PRAGMA page_size = 16384");
  // A write-ahead log lets others read all the time. A crash of this process harms neither; only a
  // crash of the machine could, and then the run is gone anyway.
  database_.execute(options_.live ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE");
  database_.execute("PRAGMA synchronous = OFF");
  database_.execute("PRAGMA cache_size = -65536");
  database_.execute("PRAGMA wal_autocheckpoint = 4000");
  database_.execute("PRAGMA temp_store = MEMORY");
  database_.execute("PRAGMA secure_delete = OFF");  // Debian's SQLite has it on
  register_packed_rows(database_);
  begin();
  create_schema(database_);
  insert_string_ = database_.prepare("INSERT INTO StringTable VALUES(?1, ?2, NULL, NULL)");
  update_string_ =
      database_.prepare("UPDATE StringTable SET demangled = ?2, short = ?3 WHERE _id_ = ?1");
  insert_statistic_ =
      database_.prepare("INSERT OR REPLACE INTO STATISTIC VALUES(?1, ?2, ?3, ?4, ?5)");
  metrics_ = std::make_unique<MetricWriter>(
      database_, [this](std::string_view text) { return string_id(text); });
  insert_string_.bind(1, std::int64_t{0}).bind(2, schema::null_string).run();
  set_run("schema_version", schema::schema_version);
  set_run("finished", 0);
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
  switch (frame.type) {
    case wire::FrameType::run: load_run(frame); return;
    case wire::FrameType::hello: load_hello(frame); return;
    case wire::FrameType::api_names: load_api_names(frame); return;
    case wire::FrameType::metrics:
      if (!metrics_->load_metrics(frame.payload())) own_counts_[std::string(malformed_frames)]++;
      return;
    default: break;
  }
  Process& process = this->process(frame.stream);
  switch (frame.type) {
    case wire::FrameType::info: load_info(process, frame); break;
    case wire::FrameType::table: load_table(process, frame); break;
    case wire::FrameType::batch: load_batch(process, frame); break;
    case wire::FrameType::clock: load_clock(process, frame); break;
    case wire::FrameType::statistics: load_statistics(process, frame); break;
    case wire::FrameType::goodbye:
      database_.prepare("UPDATE PROCESS SET goodbye = 1 WHERE number = ?1")
          .bind(1, process.context.numbers[0])
          .run();
      break;
    case wire::FrameType::ranges:
      if (!metrics_->load_values(process.context, frame.payload())) malformed(process);
      break;
    case wire::FrameType::stream_end: load_stream_end(process); break;
    default: break;  // config, arena, counter_data, and what later versions may bring
  }
}

Loader::Process& Loader::process(std::uint32_t stream) {
  std::unique_ptr<Process>& process = processes_[stream];
  if (!process) {
    process = std::make_unique<Process>();
    process->context.numbers.push_back(next_number());
    process->context.next_number = [this] { return next_number(); };
  }
  return *process;
}

std::int64_t Loader::next_number() { return ++last_number_; }

void Loader::load_run(const wire::Frame& frame) {
  wire::Decoder decoder(frame.payload());
  const wire::Fields fields = decoder.fields();
  for (const auto& [key, value] : fields) {
    const bool number =
        !value.empty() && value.size() < 19 &&
        value.find_first_not_of("0123456789", value[0] == '-' ? 1 : 0) == std::string::npos &&
        value != "-";
    if (number) {
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
  if (!decoder.ok()) own_counts_[std::string(malformed_frames)]++;
}

void Loader::load_hello(const wire::Frame& frame) {
  Process& process = this->process(frame.stream);
  wire::Decoder decoder(frame.payload());
  const auto version = decoder.integer<std::uint32_t>();
  const wire::Fields hello = decoder.fields();
  if (!decoder.ok()) return malformed(process);
  if (version > wire::version) {
    throw Error("a collector speaks wire version " + std::to_string(version) +
                    ", this gpuprof only up to " + std::to_string(wire::version),
                "use the gpuprof that came with that collector, or a newer one",
                ExitCode::import_failed);
  }
  process.context.process_id = hello.integer("process_id");
  database_
      .prepare(
          "INSERT OR REPLACE INTO PROCESS(processId, number, parentProcessId, executable, "
          "command_line, goodbye, salvaged) VALUES(?1, ?2, ?3, ?4, ?5, 0, 0)")
      .bind(1, process.context.process_id)
      .bind(2, process.context.numbers[0])
      .bind(3, hello.integer("parent_process_id"))
      .bind(4, hello.text("executable"))
      .bind(5, hello.text("command_line"))
      .run();
}

void Loader::load_info(Process& process, const wire::Frame& frame) {
  wire::Decoder decoder(frame.payload());
  const wire::Fields fields = decoder.fields();
  if (!decoder.ok()) return malformed(process);
  if (const auto kind = fields.find("unavailable")) {
    process.counted[{std::string(kind->substr(0, kind->find(':'))), "kind_unavailable"}] = 1;
  }
  if (fields.find("error")) process.counted[{"", std::string(not_profiled)}] = 1;
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

void Loader::load_table(Process& process, const wire::Frame& frame) {
  auto table = wire::decode_table(frame.payload());
  if (!table || !takes_rows(database_, table->name)) return malformed(process);
  use_current_names(*table);
  const auto payload = frame.payload();
  const std::uint32_t id = table->id;
  process.writers.erase(id);
  process.tables[id] = {std::move(*table),
                        std::string(reinterpret_cast<const char*>(payload.data()), payload.size())};
}

Loader::Writer* Loader::writer_for(const wire::WireTable& table, std::string_view definition) {
  const auto known = writers_.find(definition);
  if (known != writers_.end()) return known->second.get();

  auto writer = std::make_unique<Writer>();
  writer->table = table.name;
  writer->times = find_times(table);
  writer->source.row_width = table.row_width();

  // A stream may bring tables and columns this build has never heard of.
  std::string creation =
      "CREATE TABLE IF NOT EXISTS " + quoted(table.name) + "(_id_ INTEGER PRIMARY KEY";
  for (const auto& column : table.columns) {
    creation += ", " + quoted(column.name) + " " + std::string(schema::sql_type(column.type));
  }
  const std::string process_name = lower(schema::process_column);
  const bool has_process = std::ranges::any_of(
      table.columns, [&](const auto& column) { return lower(column.name) == process_name; });
  if (!has_process) creation += ", " + std::string(schema::process_column) + " INT";
  creation += ")";
  database_.execute(creation);
  std::set<std::string, std::less<>> there;
  Statement columns = database_.prepare("SELECT name FROM pragma_table_info(?1)");
  columns.bind(1, table.name);
  while (columns.step()) there.insert(lower(columns.text(0)));

  const auto add_column = [&](std::string_view name, std::string_view type) {
    if (there.contains(lower(name))) return;
    database_.execute("ALTER TABLE " + quoted(table.name) + " ADD COLUMN " + quoted(name) + " " +
                      std::string(type));
  };
  if (there.size() + table.columns.size() > most_columns) return nullptr;
  std::vector<std::string> names;
  std::uint32_t offset = 0;
  for (const auto& column : table.columns) {
    add_column(column.name, schema::sql_type(column.type));
    names.push_back(column.name);
    writer->source.cells.push_back(
        column.present ? RowSource::cell(column.type, column.role, column.width, offset)
                       : RowSource::Cell{});
    offset += column.width;
  }
  if (!has_process) {
    add_column(schema::process_column, "INT");
    names.emplace_back(schema::process_column);
    RowSource::Cell cell;
    cell.how = RowSource::Cell::process_id;
    writer->source.cells.push_back(cell);
  }

  const std::string source_name = "rows_" + std::to_string(writers_.size());
  create_row_source(database_, source_name, writer->source, names);
  // SQLite numbers a row whose _id_ is NULL with last + 1: it then stands at the end of the table
  // and looks nowhere else. _id_ is named for the columns to be in the table's order, which spares
  // a copy of each value.
  std::string in_order;
  for (const std::string& name : names) in_order += (in_order.empty() ? "" : ", ") + quoted(name);
  const std::string insert = "INSERT INTO main." + quoted(table.name) + "(_id_, " + in_order +
                             ") SELECT NULL, " + in_order + " FROM temp." + source_name;
  writer->insert = database_.prepare(insert);

  return writers_.emplace(std::string(definition), std::move(writer)).first->second.get();
}

void Loader::load_batch(Process& process, const wire::Frame& frame) {
  const auto batch = wire::decode_batch(frame.payload());
  if (!batch) return malformed(process);
  const bool salvaged = batch->header.flags & wire::batch_salvaged;
  const bool discarded = batch->header.flags & wire::batch_discarded;
  RowContext& context = process.context;
  for (const wire::Block& block : batch->blocks) {
    if (block.table == wire::string_block || block.table == wire::bytes_block) {
      const auto strings = wire::decode_strings(block);
      if (!strings) {
        malformed(process);
        continue;
      }
      for (const wire::WireString& string : *strings) {
        if (block.table == wire::bytes_block) {
          context.byte_strings[string.id] = string.text;
        } else if (string.id > context.string_ids.size() + widest_gap) {
          malformed(process);
        } else {
          if (context.string_ids.size() <= string.id) context.string_ids.resize(string.id + 1);
          context.string_ids[string.id] = string_id(string.text);
        }
      }
      continue;
    }
    auto writer = process.writers.find(block.table);
    if (writer == process.writers.end()) {
      const auto table = process.tables.find(block.table);
      if (table == process.tables.end()) {  // rows of a table nobody defined
        malformed(process);
        continue;
      }
      Writer* made = writer_for(table->second.first, table->second.second);
      if (!made) {
        malformed(process);
        continue;
      }
      writer = process.writers.emplace(block.table, made).first;
    }
    if (discarded) {
      process.discarded[writer->second->table] += block.rows;
      continue;
    }
    RowSource& source = writer->second->source;
    if (block.bytes.size() != block.rows * source.row_width) {
      malformed(process);
      continue;
    }
    const std::string& table = writer->second->table;
    source.rows = block.bytes.data();
    source.count = block.rows;
    source.context = &context;
    writer->second->insert.run();

    process.received[table] += block.rows;
    if (salvaged) process.salvaged[table] += block.rows;
    if (const Times& times = writer->second->times; times.there) {
      std::uint64_t without = 0;
      for (std::size_t i = 0; i < block.rows; ++i) {
        const std::byte* row = block.bytes.data() + i * source.row_width;
        without += (wire::load<std::uint64_t>(row + times.start) |
                    wire::load<std::uint64_t>(row + times.end)) == 0;
      }
      if (without) process.without_times[table] += without;
    }
  }
  context.byte_strings.clear();
}

void Loader::load_api_names(const wire::Frame& frame) {
  const auto names = wire::decode_api_names(frame.payload());
  if (!names) return malformed(process(frame.stream));
  Statement insert = database_.prepare("INSERT OR IGNORE INTO API_NAME VALUES(?1, ?2, ?3)");
  for (const wire::ApiName& name : *names) {
    insert.bind(1, name.domain).bind(2, std::int64_t{name.cbid}).bind(3, name.name).run();
  }
}

void Loader::load_clock(Process& process, const wire::Frame& frame) {
  const auto clock = wire::decode_clock(frame.payload());
  if (!clock) return malformed(process);
  database_.prepare("INSERT INTO CLOCK VALUES(?1, ?2, ?3, ?4, ?5)")
      .bind(1, process.context.process_id)
      .bind(2, clock->moment == wire::Clock::Moment::first ? "first" : "last")
      .bind(3, clock->realtime)
      .bind(4, clock->monotonic)
      .bind(5, clock->cupti)
      .run();
}

void Loader::load_statistics(Process& process, const wire::Frame& frame) {
  const auto statistics = wire::decode_statistics(frame.payload());
  if (!statistics) return malformed(process);
  for (const wire::Statistic& statistic : *statistics) {
    process.counted[{statistic.kind, statistic.name}] = statistic.value;
  }
}

void Loader::load_stream_end(Process& process) {
  if (process.salvaged.empty()) return;
  database_.prepare("UPDATE PROCESS SET salvaged = 1 WHERE number = ?1")
      .bind(1, process.context.numbers[0])
      .run();
}

void Loader::malformed(Process& process) { ++process.malformed; }

std::int64_t Loader::string_id(std::string_view text) {
  const auto [entry, fresh] = strings_.try_emplace(std::string(text), 0);
  if (!fresh) return entry->second;
  entry->second = ++last_string_;
  insert_string_.bind(1, last_string_).bind(2, text).run();
  readable_names_.ask(last_string_, text);
  return last_string_;
}

void Loader::store_readable_names() {
  const std::vector<ReadableNames::Answer> answers = readable_names_.take();
  if (!answers.empty()) begin();
  for (const auto& [id, readable] : answers) {
    if (readable.gave_up) own_counts_[std::string(not_demangled)]++;
    if (!readable.changed) continue;
    update_string_.bind(1, id).bind(2, readable.text).bind(3, short_name(readable.text)).run();
  }
}

void Loader::set_run(std::string_view key, std::string_view value) {
  database_.prepare("INSERT OR REPLACE INTO RUN VALUES(?1, ?2)").bind(1, key).bind(2, value).run();
}

void Loader::set_run(std::string_view key, std::int64_t value) {
  database_.prepare("INSERT OR REPLACE INTO RUN VALUES(?1, ?2)").bind(1, key).bind(2, value).run();
}

void Loader::count(schema::StatisticName statistic, std::uint64_t value) {
  own_counts_[std::string(statistic.name())] = value;
}

void Loader::write_statistic(std::int64_t process_id, std::string_view kind, std::string_view name,
                             std::uint64_t value) {
  const schema::StatisticInfo* info = schema::find_statistic(name);
  const auto severity = info ? info->severity : schema::unknown_severity;
  insert_statistic_.bind(1, process_id)
      .bind(2, kind)
      .bind(3, name)
      .bind(4, static_cast<std::int64_t>(value))
      .bind(5, schema::severity_name(severity))
      .run();
}

void Loader::write_statistics() {
  // Streams may share a process id: exec starts a program anew, and long runs see numbers again.
  std::map<std::tuple<std::int64_t, std::string_view, std::string_view>, std::uint64_t> all;
  for (const auto& [stream, process] : processes_) {
    const std::int64_t id = process->context.process_id;
    for (const auto& [table, count] : process->received) {
      all[{id, table, "records_received"}] += count;
    }
    for (const auto& [table, count] : process->salvaged) {
      all[{id, table, "records_salvaged"}] += count;
    }
    for (const auto& [table, count] : process->without_times) {
      all[{id, table, "records_without_times"}] += count;
    }
    for (const auto& [table, count] : process->discarded) {
      all[{id, table, "records_discarded"}] += count;
    }
    for (const auto& [key, value] : process->counted) all[{id, key.first, key.second}] += value;
    if (process->malformed) all[{id, "", malformed_frames}] += process->malformed;
  }
  for (const auto& [name, value] : own_counts_) all[{0, "", name}] += value;
  for (const auto& [key, value] : all) {
    write_statistic(std::get<0>(key), std::get<1>(key), std::get<2>(key), value);
  }
}

void Loader::commit() {
  store_readable_names();
  if (!in_transaction_) return;
  write_statistics();
  database_.execute("COMMIT");
  in_transaction_ = false;
}

void Loader::finish() {
  begin();
  compute_nvtx_ranges(database_);
  if (options_.indexes) create_indexes(database_);
  if (const std::size_t missing = readable_names_.wait(readable_names_patience)) {
    own_counts_[std::string(not_demangled)] += missing;
  }
  set_run("finished", 1);
  set_run("loss", !totals().lossless());
  commit();
  // Nothing of ours may hold the file while the log is folded in.
  for (auto& [definition, writer] : writers_) writer->insert = Statement();
  insert_string_ = Statement();
  update_string_ = Statement();
  insert_statistic_ = Statement();
  metrics_.reset();
  // SQLite does not wait here for a reader to close the file: it is asked again.
  database_.execute("PRAGMA busy_timeout = 0");
  constexpr auto patience = std::chrono::seconds(2);
  const auto began = std::chrono::steady_clock::now();
  while (true) {
    try {
      return database_.execute("PRAGMA journal_mode = DELETE");
    } catch (const Error&) {
      if (std::chrono::steady_clock::now() - began >= patience) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  // Somebody else has the file open. All is in it and in its log; SQLite folds the log in when the
  // last one closes the file, and only tools older than SQLite 3.7 cannot read it until then.
  still_open_ = true;
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

LoadTotals Loader::totals() const {
  LoadTotals totals;
  totals.processes = processes_.size();
  // These say of rows that are there what is amiss with them; records_without_times counts them
  // too.
  constexpr schema::StatisticName not_missing[]{"incomplete_records", "strings_lost",
                                                "bytes_discarded",    "not_profiled",
                                                "stream_cut",         "cupti_second_client"};
  const auto missing = [&](std::string_view name) {
    const schema::StatisticInfo* info = schema::find_statistic(name);
    return info && info->severity >= schema::Severity::data_loss &&
           std::ranges::find(not_missing, name, &schema::StatisticName::name) ==
               std::end(not_missing);
  };
  for (const auto& [stream, process] : processes_) {
    for (const auto& [table, count] : process->received) totals.records += count;
    for (const auto& [table, count] : process->without_times) totals.without_times += count;
    for (const auto& [table, count] : process->discarded) totals.missing += count;
    for (const auto& [key, value] : process->counted) {
      if (missing(key.second)) totals.missing += value;
    }
    totals.missing += process->malformed;
    totals.uncounted += process->counted.contains({"", std::string(stream_cut)});
    totals.not_profiled += process->counted.contains({"", std::string(not_profiled)});
  }
  for (const auto& [name, value] : own_counts_) {
    if (missing(name)) totals.missing += value;
  }
  return totals;
}

}  // namespace gpuprof::store
