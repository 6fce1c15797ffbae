#include "libprof/store/loader.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/store/stream_definitions.hpp"
#include "libprof/wire/batch_parts.hpp"
#include "libprof/wire/limits.hpp"
#include "libprof/wire/stream_error.hpp"

namespace gpuprof::store {
namespace {

constexpr schema::StatisticName refused_frames = "stream_refused";
constexpr schema::StatisticName kind_unavailable = "kind_unavailable";

// Used instead of a process's number where there is no process of the run.
constexpr std::int64_t no_number = -1;

}  // namespace

struct Loader::Stream {
  StreamDefinitions tables;
  Counts::Told counted;
  FactWriter::Share facts;
  CodeValueWriter::Share code_values;
  wire::BatchParts parts;
};

struct Loader::Process {
  RowContext context;
  bool said_hello = false;
  bool sampler = false;  // not a process of the run
  bool refused = false;
  bool salvaged = false;
  DiagnosticWriter::Told diagnostics = 0;
  std::unique_ptr<Stream> stream;  // null: ended or refused
};

Loader::Loader(Database database, LoaderOptions options)
    : database_(std::move(database)),
      options_(std::move(options)),
      counts_(database_),
      diagnostics_(database_, counts_),
      facts_(database_, counts_),
      process_rows_(database_),
      run_(database_) {
  if (options_.when_locked) database_.when_locked(options_.when_locked);
  if (!database_.has_table("RUN")) make_empty_profile(database_, options_.live);
  database_.execute("PRAGMA synchronous = OFF");
  database_.execute("PRAGMA cache_size = -65536");
  database_.execute("PRAGMA wal_autocheckpoint = 4000");
  database_.execute("PRAGMA temp_store = MEMORY");
  database_.execute("PRAGMA secure_delete = OFF");  // on by default in Debian's SQLite
  register_packed_rows(database_);
  begin();
  tables_ = std::make_unique<StreamTables>(database_);
  strings_ = std::make_unique<StringWriter>(database_, options_.string_cache_bytes);
  metrics_ = std::make_unique<MetricWriter>(database_);
  code_values_ = std::make_unique<CodeValueWriter>(database_, *strings_, counts_);
  if (options_.keep_last.limits()) ring_.emplace(database_, options_.keep_last);
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
  if (!process) return counts_.add(0, left_out);
  if (process->refused && frame.type != wire::FrameType::stream_end) {
    return count(*process, refused_frames);
  }
  try {
    load_of_stream(*process, frame);
  } catch (const wire::StreamError& error) {
    refuse(*process, error.what());
  } catch (const DatabaseError& error) {
    // With any other error the next frame would fare no better.
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
  if (!sound) counts_.add(0, malformed_frames);
}

void Loader::load_of_stream(Process& process, const wire::Frame& frame) {
  using enum wire::FrameType;
  const auto malformed = [&] { count(process, malformed_frames); };
  if (wire::is_oversized(frame.type, frame.length)) return malformed();
  RowContext& context = process.context;
  const std::int64_t id = context.process_id;
  const std::span<const std::byte> payload = frame.payload();
  Stream* const stream = process.stream.get();  // null: what needs it is malformed
  const auto counters = [&](wire::CodeKind kind) {
    code_values_->load_counters(kind, stream->code_values, context, payload);
  };
  const auto values = [&](wire::CodeKind kind) {
    code_values_->load_values(kind, stream->code_values, context, payload);
  };
  // No default, so that -Werror=switch requires a case for each type.
  switch (frame.type) {
    case goodbye: return process_rows_.set_goodbye(context.numbers[0]);
    case stream_end: return load_stream_end(process, frame);
    // Allowed after the end of the stream: later runs of the program may have been measured.
    case rows: return load_own_rows(process, frame);
    case hello: return stream ? load_hello(process, frame) : malformed();
    case info: return stream ? load_info(process, frame) : malformed();
    case table: return stream ? load_table(process, frame) : malformed();
    case api_names: return stream ? facts_.load_api_names(stream->facts, id, payload) : malformed();
    case payload_schema:
      return stream ? facts_.load_payload_schema(stream->facts, id, payload) : malformed();
    case batch: return stream ? load_batch(process, payload) : malformed();
    case batch_part: return stream ? load_batch_part(process, frame) : malformed();
    case clock: return stream ? facts_.load_clock(stream->facts, id, payload) : malformed();
    case statistics: return stream ? load_statistics(process, frame) : malformed();
    case pc_sampling: return stream ? counters(wire::CodeKind::pc_samples) : malformed();
    case pc_samples: return stream ? values(wire::CodeKind::pc_samples) : malformed();
    case sass_metrics: return stream ? counters(wire::CodeKind::sass_metrics) : malformed();
    case sass_values: return stream ? values(wire::CodeKind::sass_metrics) : malformed();
    case run:
    case metrics: return malformed();  // valid only in the run's own stream
    case config:
    case arena:
    case counter_data:
    case question: return;  // not for the database
  }
  // A frame type from a later version.
}

// `sampler`: whether a new stream belongs to a sampler.
Loader::Process* Loader::process(std::uint32_t stream, bool sampler) {
  const auto known = processes_.find(stream);
  if (known != processes_.end()) return known->second.get();
  if (processes_.size() >= wire::max_streams) return nullptr;
  auto process = std::make_unique<Process>();
  process->stream = std::make_unique<Stream>();
  process->sampler = sampler;
  // Only targets are numbered: the first gets 0, so that it keeps CUPTI's own ids.
  process->context.numbers.push_back(sampler ? no_number : next_number());
  process->context.next_number = [this, sampler] { return sampler ? no_number : next_number(); };
  if (!sampler) counts_.add_process();
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
  diagnostics_.tell(process.diagnostics, process.context.process_id, refused_frames.name(),
                    schema::Severity::data_loss, text);
  if (options_.message) options_.message(process.context.process_id, text);
}

void Loader::explain(schema::StatisticName statistic, std::string_view text) {
  begin();
  const schema::StatisticInfo* info = schema::find_statistic(statistic.name());
  diagnostics_.tell_of_run(statistic.name(), info->severity, text);
}

void Loader::end_stream(Process& process) {
  if (!process.stream) return;
  if (const std::size_t held = process.stream->parts.held()) {
    parts_bytes_ -= held;
    count(process, malformed_frames);  // the rest of the batch never came
  }
  if (code_values_) code_values_->end(process.stream->code_values, process.context);
  process.stream.reset();
}

void Loader::load_run(const wire::Frame& frame) {
  wire::Decoder decoder(frame.payload());
  const wire::Fields fields = decoder.fields();
  run_.set_told(fields);
  process_rows_.set_end(fields);
  if (!decoder.ok()) counts_.add(0, malformed_frames);
}

void Loader::load_hello(Process& process, const wire::Frame& frame) {
  const wire::Hello said = wire::decode_hello(frame.payload());
  if (!said.whole || process.said_hello) return count(process, malformed_frames);
  process.said_hello = true;
  process.context.process_id = said.process_id();
  if (!process.sampler) {
    process_rows_.insert(process.context.process_id, process.context.numbers[0], said.fields);
  }
  if (said.version > wire::version) {
    throw wire::StreamError("its collector speaks wire version " + std::to_string(said.version) +
                            ", this gpuprof only up to " + std::to_string(wire::version) +
                            " (use the gpuprof that came with that collector, or a newer one)");
  }
}

void Loader::load_info(Process& process, const wire::Frame& frame) {
  wire::Decoder decoder(frame.payload());
  const wire::Fields fields = decoder.fields();
  if (!decoder.ok()) return count(process, malformed_frames);
  const std::int64_t process_id = process.context.process_id;
  Counts::Told& counted = process.stream->counted;
  if (const auto kind = fields.find("unavailable")) {
    counts_.set(counted, process_id, kind->substr(0, kind->find(':')), kind_unavailable.name(), 1);
  }
  if (fields.find("error")) counts_.set(counted, process_id, "", not_profiled.name(), 1);
  diagnostics_.tell(process.diagnostics, process_id, fields);
  if (const auto functions = fields.find("calls_left_out")) run_.set_calls_left_out(*functions);
  if (const auto used = fields.find("hw_trace")) run_.set_hw_trace(*used);
  process_rows_.set_versions(process.context.numbers[0], fields);
}

void Loader::load_table(Process& process, const wire::Frame& frame) {
  auto table = wire::decode_table(frame.payload());
  if (!table || !tables_->takes_rows(table->name)) return count(process, malformed_frames);
  if (!process.stream->tables.define(std::move(*table), frame.payload())) {
    count(process, left_out);
  }
}

StreamTables::Writer* Loader::writer_for(Process& process, const wire::Block& block) {
  const auto table = process.stream->tables.find(block.table, *tables_);
  if (!table) {  // not defined
    count(process, malformed_frames);
    return nullptr;
  }
  if (!table->writer) count(process, left_out, block.rows, table->name);
  return table->writer;
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
  for (const wire::Block& block : batch->blocks) {
    if (block.table == wire::string_block || block.table == wire::bytes_block) {
      load_strings(process, block);
    } else {
      load_rows(process, block, batch->header.flags);
    }
  }
  end_batch(process);
  // A commit may have more than a small ring keeps.
  if (ring_) ring_->trim(RecordRing::Clock::now());
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
  if (ring_) ring_->loaded(block.bytes.size());
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
      // 0 means "no time" and becomes the highest value here.
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
    const bool fits = process.sampler ? StreamTables::takes_samples(table.name)
                                      : StreamTables::takes_own_rows(table.name) ||
                                            tables_->takes_rows(table.name);
    if (!fits) return count(process, malformed_frames);
    writers[table.id] = tables_->writer_for(table, text, own_share_);
  }
  // The frame has its own strings.
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

void Loader::load_statistics(Process& process, const wire::Frame& frame) {
  const auto statistics = wire::decode_statistics(frame.payload());
  if (!statistics) return count(process, malformed_frames);
  for (const wire::Statistic& statistic : *statistics) {
    counts_.set(process.stream->counted, process.context.process_id, statistic.kind, statistic.name,
                statistic.value);
  }
}

void Loader::load_stream_end(Process& process, const wire::Frame& frame) {
  // What the launcher counted for this stream.
  if (frame.length > 0) {
    const auto statistics = wire::decode_statistics(frame.payload());
    if (!statistics) return count(process, malformed_frames);
    for (const wire::Statistic& statistic : *statistics) {
      counts_.add(process.context.process_id, statistic.kind, statistic.name, statistic.value);
    }
  }
  if (process.salvaged) process_rows_.set_salvaged(process.context.numbers[0]);
  // A run may have many processes: little is kept of one that has ended.
  end_stream(process);
  process.context.string_ids.clear();
  process.context.byte_strings = {};
}

void Loader::count(const Process& process, schema::StatisticName statistic, std::uint64_t more,
                   std::string_view kind) {
  counts_.add(process.context.process_id, statistic, more, kind);
}

void Loader::trim() {
  // Strings are looked through when there are this many new ones.
  constexpr std::int64_t many = 200'000;
  if (!ring_ || !strings_) return;  // null: at the end
  ring_->trim(RecordRing::Clock::now());
  const std::uint64_t let_go = ring_->let_go();
  if (let_go == 0) return;
  if (let_go != counts_.totals().let_go) {
    counts_.set_let_go(let_go);
    run_.set("derived_from",
             "--keep-last, which has let " + std::to_string(let_go) + " older rows go");
  }
  if (strings_->added() < many) return;
  strings_->remove_unused([this](const std::function<void(std::int64_t)>& use) {
    for (const auto& [stream, process] : processes_) process->context.string_ids.for_each(use);
  });
}

void Loader::commit() {
  store_readable_names();
  if (!in_transaction_) return;
  trim();
  counts_.write();
  database_.execute("COMMIT");
  in_transaction_ = false;
}

void Loader::move(const std::function<Database()>& move) {
  database_ = Database(":memory:", Database::Mode::create);
  database_ = move();
}

}  // namespace gpuprof::store
