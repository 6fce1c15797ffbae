// Builds streams by hand, for tests of their readers.
#pragma once

#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/wire/capture.hpp"
#include "libprof/wire/codec.hpp"
#include "libprof/wire/frame.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::test {

// A separate folder, removed at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "gpuprof-test-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const char* name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline wire::Frame frame_of(wire::FrameType type, std::uint32_t stream,
                            const wire::Encoder& payload) {
  return wire::make_frame(type, stream, payload.bytes());
}

inline wire::Frame fields_frame(
    wire::FrameType type, std::uint32_t stream,
    std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
  wire::Fields fields;
  for (const auto& [name, value] : pairs) fields.set(name, value);
  wire::Encoder encoder;
  encoder.fields(fields);
  return frame_of(type, stream, encoder);
}

inline wire::Frame hello(
    std::uint32_t stream, std::int64_t process_id, std::uint32_t version = wire::version,
    std::initializer_list<std::pair<std::string_view, std::string_view>> more = {}) {
  wire::Fields fields;
  fields.set("process_id", process_id);
  fields.set("parent_process_id", std::int64_t{1});
  fields.set("executable", "/bin/app");
  fields.set("command_line", "app --fast");
  for (const auto& [name, value] : more) fields.set(name, value);
  wire::Encoder encoder;
  encoder.integer(version).fields(fields);
  return frame_of(wire::FrameType::hello, stream, encoder);
}

inline wire::WireColumn column(std::string_view name, schema::Type type,
                               schema::Role role = schema::Role::plain, std::uint16_t width = 0) {
  return {std::string(name), type, role, width ? width : schema::width_of(type), true, "a doc"};
}

inline wire::Frame table(std::uint32_t stream, const wire::WireTable& table) {
  wire::Encoder encoder;
  wire::encode(encoder, table);
  return frame_of(wire::FrameType::table, stream, encoder);
}

// A frame's payload.
template <class Payload>
std::vector<std::byte> payload_of(const Payload& payload) {
  wire::Encoder encoder;
  encode(encoder, payload);
  return encoder.take();
}

// A collector's statistic that this build need not know.
inline wire::Statistic statistic(std::string_view kind, std::string_view name,
                                 std::uint64_t value) {
  wire::Statistic made;
  made.kind = kind;
  made.name = name;
  made.value = value;
  return made;
}

// Assembles a batch block by block.
class BatchBuilder {
 public:
  using Strings = std::vector<std::pair<std::uint32_t, std::string_view>>;

  BatchBuilder& strings(const Strings& strings, std::uint32_t block = wire::string_block) {
    wire::Encoder encoder;
    for (const auto& [id, text] : strings) encoder.integer(id).text(text);
    return rows(block, static_cast<std::uint32_t>(strings.size()), encoder);
  }
  BatchBuilder& bytes(const Strings& strings) { return this->strings(strings, wire::bytes_block); }
  BatchBuilder& rows(std::uint32_t table, std::uint32_t count, const wire::Encoder& rows) {
    return rows_of_length(table, count, rows.bytes().size(), rows);
  }
  // The length may be wrong.
  BatchBuilder& rows_of_length(std::uint32_t table, std::uint32_t count, std::uint64_t length,
                               const wire::Encoder& rows) {
    body_.integer(wire::BlockHeader{table, count, length});
    body_.raw(rows.bytes());
    ++blocks_;
    return *this;
  }
  wire::Frame frame(std::uint32_t stream, std::uint32_t flags = 0) const {
    return frame_with_blocks(stream, blocks_, flags);
  }
  wire::Frame frame_with_blocks(std::uint32_t stream, std::uint32_t blocks,
                                std::uint32_t flags = 0) const {
    wire::Encoder encoder;
    encoder.integer(wire::BatchHeader{wire::no_slot, 0, blocks, flags});
    encoder.raw(body_.bytes());
    return frame_of(wire::FrameType::batch, stream, encoder);
  }

 private:
  wire::Encoder body_;
  std::uint32_t blocks_ = 0;
};

inline wire::Frame copy(const wire::Frame& frame) {
  return wire::make_frame(frame.type, frame.stream, frame.payload());
}

inline std::string header_bytes(std::uint32_t type, std::uint32_t stream, std::uint64_t length) {
  const wire::FrameHeader header{type, stream, length};
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

inline std::string bytes_of(const wire::Frame& frame) {
  return header_bytes(static_cast<std::uint32_t>(frame.type), frame.stream, frame.length) +
         std::string(reinterpret_cast<const char*>(frame.bytes.get()), frame.length);
}

inline std::string capture_start(std::uint32_t version = wire::capture_version) {
  return std::string(wire::capture_magic) +
         std::string(reinterpret_cast<const char*>(&version), sizeof version);
}

// A frame as stored in a capture.
inline std::string capture_bytes_of(const wire::Frame& frame, std::uint64_t number) {
  const wire::CaptureHead head = wire::head_of(frame, number);
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) +
         std::string(reinterpret_cast<const char*>(frame.bytes.get()), frame.length);
}

inline std::string capture_of(const std::vector<wire::Frame>& frames) {
  std::string bytes = capture_start();
  for (std::size_t i = 0; i < frames.size(); ++i) bytes += capture_bytes_of(frames[i], i);
  return bytes;
}

inline std::string capture_of_version_1(const std::vector<wire::Frame>& frames) {
  std::string bytes = capture_start(1);
  for (const wire::Frame& frame : frames) bytes += bytes_of(frame);
  return bytes;
}

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// The tables whose rows the tests write, with some columns of the real ones.
namespace tables {

using schema::Role;
using schema::Type;

inline const wire::WireTable kernel{
    10,
    "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
    "kernels",
    {column("cacheConfig", Type::blob, Role::plain, 1), column("start", Type::u64),
     column("end", Type::u64), column("deviceId", Type::u32),
     column("correlationId", Type::u32, Role::correlation), column("name", Type::string)}};

inline const wire::WireTable runtime{
    5,
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "calls",
    {column("cbid", Type::u32), column("start", Type::u64), column("end", Type::u64),
     column("processId", Type::u32), column("threadId", Type::u32),
     column("correlationId", Type::u32, Role::correlation), column("returnValue", Type::u32)}};

inline const wire::WireTable marker{
    12,
    "CUPTI_ACTIVITY_KIND_MARKER",
    "markers",
    {column("flags", Type::u32), column("timestamp", Type::u64), column("id", Type::u32),
     column("objectKind", Type::u32), column("name", Type::string), column("domain", Type::string),
     column("threadId", Type::u32)}};

inline const wire::WireTable marker_data{
    13,
    "CUPTI_ACTIVITY_KIND_MARKER_DATA",
    "marker data",
    {column("flags", Type::u32), column("id", Type::u32), column("color", Type::u32),
     column("category", Type::u32), column("payloadInt", Type::i64, Role::nullable),
     column("payloadDouble", Type::f64, Role::nullable)}};

inline const wire::WireTable module{27,
                                    "CUPTI_ACTIVITY_KIND_MODULE",
                                    "modules",
                                    {column("id", Type::u32), column("cubin", Type::bytes)}};

}  // namespace tables

inline void add_kernel(wire::Encoder& rows, std::uint64_t start, std::uint64_t end,
                       std::uint32_t correlation, std::uint32_t name) {
  rows.integer(std::uint8_t{0x10}).integer(start).integer(end).integer(std::uint32_t{0});
  rows.integer(correlation).integer(name);
}

// A batch of kernels of 1 ns each, with these correlation ids.
inline wire::Frame kernels(std::uint32_t stream, const std::vector<std::uint32_t>& correlations,
                           const BatchBuilder::Strings& strings = {}, std::uint32_t name = 0) {
  wire::Encoder packed;
  for (const std::uint32_t id : correlations) add_kernel(packed, 1, 2, id, name);
  BatchBuilder batch;
  if (!strings.empty()) batch.strings(strings);
  return batch.rows(10, static_cast<std::uint32_t>(correlations.size()), packed).frame(stream);
}

inline void add_call(wire::Encoder& rows, std::uint64_t start, std::uint64_t end,
                     std::uint32_t process, std::uint32_t thread, std::uint32_t correlation) {
  rows.integer(std::uint32_t{211}).integer(start).integer(end).integer(process).integer(thread);
  rows.integer(correlation).integer(std::uint32_t{0});
}

struct Mark {
  std::uint32_t flags;
  std::uint64_t timestamp;
  std::uint32_t id;
  std::uint32_t name = 0;
  std::uint32_t domain = 0;
  std::uint32_t thread = 7;
  std::uint32_t object = 2;  // thread: push/pop; 1, process: start/end
};

inline void add_mark(wire::Encoder& rows, const Mark& mark) {
  rows.integer(mark.flags).integer(mark.timestamp).integer(mark.id).integer(mark.object);
  rows.integer(mark.name).integer(mark.domain).integer(mark.thread);
}

}  // namespace gpuprof::test
