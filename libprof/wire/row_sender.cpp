#include "libprof/wire/row_sender.hpp"

#include <utility>

#include "libprof/wire/format.hpp"

namespace gpuprof::wire {

std::uint32_t RowSender::Texts::id(std::string_view text) {
  if (text.empty()) return 0;
  if (const auto known = ids.find(text); known != ids.end()) return known->second;
  const auto id = static_cast<std::uint32_t>(ids.size() + 1);
  ids.emplace(text, id);
  bytes.integer(id).text(text);
  return id;
}

void RowSender::seal() {
  if (rows_.empty()) return;
  Encoder payload;
  if (form_ == Form::rows) payload.integer(static_cast<std::uint32_t>(rows_.size()));
  Encoder blocks;
  std::uint32_t count = 0;
  const auto block = [&](std::uint32_t table, std::size_t rows, const Encoder& bytes) {
    if (rows == 0) return;
    blocks.integer(BlockHeader{table, static_cast<std::uint32_t>(rows), bytes.bytes().size()});
    blocks.raw(bytes.bytes());
    ++count;
  };
  block(string_block, names_.ids.size(), names_.bytes);
  block(bytes_block, texts_.ids.size(), texts_.bytes);
  for (const auto& [table, rows] : rows_) {
    if (form_ == Form::rows) {
      Encoder definition;
      encode(definition, *rows.table);
      const auto bytes = definition.bytes();
      payload.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    block(table, rows.count, rows.bytes);
  }
  payload.integer(BatchHeader{no_slot, 0, count, 0}).raw(blocks.bytes());
  payloads_.push_back(payload.take());
  rows_.clear();
  names_ = {};
  texts_ = {};
}

std::vector<std::vector<std::byte>> RowSender::take() {
  seal();
  return std::exchange(payloads_, {});
}

std::vector<Frame> RowSender::take(std::uint32_t stream) {
  std::vector<Frame> frames;
  for (const auto& payload : take()) {
    frames.push_back(make_frame(FrameType::rows, stream, payload));
  }
  return frames;
}

}  // namespace gpuprof::wire
