// Arrow's file format: a row for each GPU activity and API call, as in the CSV. Names are
// dictionaries, which come at the end, when all are known.
#include <fstream>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "libprof/base/utf8.hpp"
#include "libprof/exchange/export/flatbuffer.hpp"
#include "libprof/exchange/export/format.hpp"

namespace gpuprof::exporting {
namespace {

using flat::bytes_of;
using flat::Node;

constexpr std::string_view beginning{"ARROW1\0\0", 8};
constexpr std::size_t rows_of_batch = 1 << 16;

// From Arrow's declarations (format/Message.fbs, Schema.fbs, File.fbs).
constexpr std::int16_t version_5 = 4;
enum class Header : std::uint8_t { schema = 1, dictionary = 2, rows = 3 };
enum class ArrowType : std::uint8_t { integer = 2, large_utf8 = 20 };

std::string padded(std::string bytes) {
  bytes.resize((bytes.size() + 7) / 8 * 8);
  return bytes;
}

Node integer_type(std::int32_t bits) {
  return Node::table().number(0, bits).number(1, std::uint8_t{1});
}

// The values of a batch and, for texts, all distinct ones so far.
class ArrowValues {
 public:
  enum class Kind : std::uint8_t { number, text };
  ArrowValues(std::string_view name, Kind kind) : name_(name), kind_(kind) {}

  Kind kind() const { return kind_; }

  void add(std::optional<std::int64_t> value) {
    if (rows_ % 8 == 0) valid_ += '\0';
    if (value) {
      valid_.back() = static_cast<char>(valid_.back() | 1 << rows_ % 8);
    } else {
      ++nulls_;
    }
    const std::int64_t number = value.value_or(0);
    values_.append(reinterpret_cast<const char*>(&number), kind_ == Kind::text ? 4 : 8);
    ++rows_;
  }
  // Nullopt: NULL. The text must outlive this object.
  void add_text(std::optional<std::string_view> text) {
    if (!text) return add(std::nullopt);
    const auto [place, is_new] =
        numbers_.try_emplace(*text, static_cast<std::int64_t>(texts_.size()));
    if (is_new) texts_.push_back(*text);
    add(place->second);
  }

  // Validity and values of the batch; a new one is started.
  struct Batch {
    std::size_t rows = 0, nulls = 0;
    std::string valid = {}, values = {};  // valid: empty if there are no NULLs
  };
  Batch take() {
    Batch batch{rows_, nulls_, nulls_ > 0 ? std::move(valid_) : std::string(), std::move(values_)};
    rows_ = nulls_ = 0;
    valid_.clear();
    values_.clear();
    return batch;
  }

  std::span<const std::string_view> texts() const { return texts_; }

  Node field(std::int64_t id) const {
    Node field = Node::table();
    const bool text = kind_ == Kind::text;
    field.child(0, Node::text(name_))
        .number(1, std::uint8_t{1})
        .number(2, static_cast<std::uint8_t>(text ? ArrowType::large_utf8 : ArrowType::integer))
        .child(3, text ? Node::table() : integer_type(64))
        .child(5, Node::vector({}));
    if (text) field.child(4, Node::table().number(0, id).child(1, integer_type(32)));
    return field;
  }

 private:
  std::string_view name_;
  Kind kind_;
  std::size_t rows_ = 0, nulls_ = 0;
  std::string valid_, values_;
  std::unordered_map<std::string_view, std::int64_t> numbers_;
  std::vector<std::string_view> texts_;
};

class ArrowWriter : public FormatWriter {
 public:
  explicit ArrowWriter(TextFile& file) : file_(file) {
    using enum ArrowValues::Kind;
    columns_.emplace_back("type", text);
    columns_.emplace_back("name", text);
    for (const std::string_view name :
         {"start_ns", "end_ns", "duration_ns", "process_id", "thread_id", "device_id", "context_id",
          "stream_id", "correlation_id", "bytes", "grid_x", "grid_y", "grid_z", "block_x",
          "block_y", "block_z", "registers_per_thread", "static_shared_bytes",
          "dynamic_shared_bytes"}) {
      columns_.emplace_back(name, number);
    }
    columns_.emplace_back("nvtx_path", text);
    write(beginning);
    message(Header::schema, schema(), {});
  }

  void add(const Activity& activity) override {
    const bool gpu = activity.group == Activity::Group::gpu;
    if (!gpu && activity.group != Activity::Group::api) return;
    auto column = columns_.begin();
    const auto number = [&](std::optional<std::int64_t> value) { (column++)->add(value); };
    const auto only = [&](bool there, std::int64_t value) {
      number(there ? std::optional(value) : std::nullopt);
    };
    (column++)->add_text(activity.type);
    (column++)->add_text(activity.name);
    for (const std::int64_t value :
         {activity.start, activity.end, activity.duration(), activity.process}) {
      number(value);
    }
    only(!gpu, activity.thread);
    only(gpu, activity.device);
    only(gpu, activity.context);
    only(gpu, activity.stream);
    number(activity.correlation);
    number(activity.bytes);
    const auto shape = activity.shape.value_or(Activity::Shape());
    for (const auto& sizes : {shape.grid, shape.block}) {
      for (const std::int64_t size : sizes) only(activity.shape.has_value(), size);
    }
    for (const auto& value : {shape.registers, shape.static_memory, shape.dynamic_memory}) {
      number(value);
    }
    column->add_text(activity.path.empty() ? std::nullopt : std::optional(activity.path));
    if (++rows_ == rows_of_batch) write_rows();
  }

  void finish() override {
    if (rows_ > 0) write_rows();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].kind() == ArrowValues::Kind::text) write_dictionary(i);
    }
    write(bytes_of(std::int32_t{-1}) + bytes_of(std::int32_t{0}));
    const std::string footer = Node::table()
                                   .number(0, version_5)
                                   .child(1, schema())
                                   .child(2, blocks(dictionaries_))
                                   .child(3, blocks(batches_))
                                   .buffer();
    write(footer + bytes_of(static_cast<std::int32_t>(footer.size())) + "ARROW1");
  }

 private:
  // Location of a message.
  struct Block {
    std::int64_t offset = 0;
    std::int32_t description = 0;  // bytes of its metadata
    std::int64_t body = 0;
  };

  void write(std::string_view bytes) {
    file_ << bytes;
    written_ += static_cast<std::int64_t>(bytes.size());
  }

  Node schema() const {
    std::vector<Node> fields;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      fields.push_back(columns_[i].field(static_cast<std::int64_t>(i)));
    }
    Node about = Node::table();
    about.child(0, Node::text("gpuprof"))
        .child(1, Node::text("times are ns on the clock of the records"));
    return Node::table()
        .number(0, std::int16_t{0})
        .child(1, Node::vector(std::move(fields)))
        .child(2, Node::vector({std::move(about)}));
  }

  static Node blocks(const std::vector<Block>& all) {
    std::string bytes;
    for (const Block& block : all) {
      bytes += bytes_of(block.offset) + bytes_of(block.description) + bytes_of(std::int32_t{0}) +
               bytes_of(block.body);
    }
    return Node::structs(all.size(), std::move(bytes));
  }

  Block message(Header kind, Node header, const std::vector<std::string>& body) {
    std::int64_t size = 0;
    for (const std::string& buffer : body) size += static_cast<std::int64_t>(buffer.size());
    const std::string described = Node::table()
                                      .number(0, version_5)
                                      .number(1, static_cast<std::uint8_t>(kind))
                                      .child(2, std::move(header))
                                      .number(3, size)
                                      .buffer();
    const Block block{written_, static_cast<std::int32_t>(8 + described.size()), size};
    write(bytes_of(std::int32_t{-1}) + bytes_of(static_cast<std::int32_t>(described.size())) +
          described);
    for (const std::string& buffer : body) write(buffer);
    return block;
  }

  // A record batch from columns, each with its buffers.
  struct Part {
    std::size_t rows = 0, nulls = 0;
    std::vector<std::string> buffers;
  };
  static Node record_batch(std::size_t rows, std::vector<Part> parts,
                           std::vector<std::string>& body) {
    std::string nodes, buffers;
    std::int64_t at = 0;
    std::size_t count = 0;
    for (Part& part : parts) {
      nodes += bytes_of(static_cast<std::int64_t>(part.rows)) +
               bytes_of(static_cast<std::int64_t>(part.nulls));
      for (std::string& buffer : part.buffers) {
        buffers += bytes_of(at) + bytes_of(static_cast<std::int64_t>(buffer.size()));
        body.push_back(padded(std::move(buffer)));
        at += static_cast<std::int64_t>(body.back().size());
        ++count;
      }
    }
    return Node::table()
        .number(0, static_cast<std::int64_t>(rows))
        .child(1, Node::structs(parts.size(), std::move(nodes)))
        .child(2, Node::structs(count, std::move(buffers)));
  }

  void write_rows() {
    std::vector<Part> parts;
    for (ArrowValues& column : columns_) {
      ArrowValues::Batch batch = column.take();
      parts.push_back({batch.rows, batch.nulls, {std::move(batch.valid), std::move(batch.values)}});
    }
    std::vector<std::string> body;
    Node header = record_batch(rows_, std::move(parts), body);
    batches_.push_back(message(Header::rows, std::move(header), body));
    rows_ = 0;
  }

  void write_dictionary(std::size_t column) {
    const auto texts = columns_[column].texts();
    std::string ends = bytes_of(std::int64_t{0}), bytes;
    for (const std::string_view text : texts) {
      bytes += valid_utf8(text);
      ends += bytes_of(static_cast<std::int64_t>(bytes.size()));
    }
    std::vector<std::string> body;
    std::vector<Part> parts;
    parts.push_back({texts.size(), 0, {std::string(), std::move(ends), std::move(bytes)}});
    Node data = record_batch(texts.size(), std::move(parts), body);
    Node header = Node::table();
    header.number(0, static_cast<std::int64_t>(column)).child(1, std::move(data));
    dictionaries_.push_back(message(Header::dictionary, std::move(header), body));
  }

  TextFile& file_;
  std::int64_t written_ = 0;
  std::vector<ArrowValues> columns_;
  std::size_t rows_ = 0;
  std::vector<Block> batches_, dictionaries_;
};

// The schema names the program that wrote it.
bool is_arrow_of_ours(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string first(8192, '\0');
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  first.resize(static_cast<std::size_t>(file.gcount()));
  return first.find(std::string_view("gpuprof\0", 8)) != first.npos;
}

}  // namespace

extern const FileFormat arrow_format{
    .name = "arrow",
    .ending = ".arrow",
    .begins = beginning,
    .is_one = is_arrow_of_ours,
    .help = "the same as a file of Arrow's, for pandas, polars and DuckDB",
    .make = [](TextFile& file, reading::Profile&) -> std::unique_ptr<FormatWriter> {
      return std::make_unique<ArrowWriter>(file);
    },
};

}  // namespace gpuprof::exporting
