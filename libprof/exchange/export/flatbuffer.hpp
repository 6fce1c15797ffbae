// Flatbuffers, used by Arrow's files for their metadata.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuprof::exporting::flat {

// A number's little-endian bytes.
template <class Number>
std::string bytes_of(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof number; ++i) {
    bytes += static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xff);
  }
  return bytes;
}

// A table, a vector or a text.
class Node {
 public:
  static Node table() { return Node(Kind::table); }
  static Node text(std::string_view text) {
    Node node(Kind::text);
    node.bytes_ = text;
    return node;
  }
  static Node vector(std::vector<Node> nodes) {
    Node node(Kind::nodes);
    node.children_ = std::move(nodes);
    return node;
  }
  // A vector of structs, whose numbers have at most 8 bytes.
  static Node structs(std::size_t count, std::string bytes) {
    Node node(Kind::structs);
    node.count_ = count;
    node.bytes_ = std::move(bytes);
    return node;
  }

  // Sets a field of a table, by its number in the declaration.
  template <class Number>
  Node& number(std::size_t field, Number value) {
    slot(field).bytes = bytes_of(value);
    return *this;
  }
  Node& child(std::size_t field, Node value) {
    Slot& slot = this->slot(field);
    slot.bytes.assign(4, '\0');
    slot.child = std::make_shared<const Node>(std::move(value));
    return *this;
  }

  // The buffer with this table as its root; its length is a multiple of 8.
  std::string buffer() const {
    std::string out(4, '\0');
    set_offset(out, 0, write(out));
    pad(out, 8, 0);
    return out;
  }

 private:
  enum class Kind : std::uint8_t { table, text, nodes, structs };
  struct Slot {
    std::string bytes = {};
    std::shared_ptr<const Node> child = nullptr;
  };

  explicit Node(Kind kind) : kind_(kind) {}

  Slot& slot(std::size_t field) {
    slots_.resize(std::max(slots_.size(), field + 1));
    return slots_[field];
  }

  // Pads so that the position `behind` bytes from here is a multiple of `size`.
  static void pad(std::string& out, std::size_t size, std::size_t behind) {
    while ((out.size() + behind) % size != 0) out += '\0';
  }
  static void set_offset(std::string& out, std::size_t at, std::size_t target) {
    out.replace(at, 4, bytes_of(static_cast<std::uint32_t>(target - at)));
  }

  // Appends the node and returns its position. Everything it points to follows it.
  std::size_t write(std::string& out) const {
    switch (kind_) {
      case Kind::table: return write_table(out);
      case Kind::text: return write_bytes(out, bytes_.size(), 4, bytes_ + '\0');
      case Kind::structs: return write_bytes(out, count_, 8, bytes_);
      case Kind::nodes: break;
    }
    const std::size_t at =
        write_bytes(out, children_.size(), 4, std::string(4 * children_.size(), '\0'));
    for (std::size_t i = 0; i < children_.size(); ++i) {
      set_offset(out, at + 4 + 4 * i, children_[i].write(out));
    }
    return at;
  }

  static std::size_t write_bytes(std::string& out, std::size_t count, std::size_t size,
                                 const std::string& bytes) {
    pad(out, size, 4);
    const std::size_t at = out.size();
    out += bytes_of(static_cast<std::uint32_t>(count));
    out += bytes;
    return at;
  }

  std::size_t write_table(std::string& out) const {
    // Large fields first, so that all are aligned.
    std::vector<std::size_t> order;
    for (std::size_t field = 0; field < slots_.size(); ++field) {
      if (!slots_[field].bytes.empty()) order.push_back(field);
    }
    std::ranges::stable_sort(order, std::greater(),
                             [&](std::size_t field) { return slots_[field].bytes.size(); });
    std::vector<std::uint16_t> places(slots_.size(), 0);
    std::string inside(4, '\0');
    for (const std::size_t field : order) {
      pad(inside, slots_[field].bytes.size(), 0);
      places[field] = static_cast<std::uint16_t>(inside.size());
      inside += slots_[field].bytes;
    }
    pad(out, 2, 0);
    const std::size_t places_at = out.size();
    out += bytes_of(static_cast<std::uint16_t>(4 + 2 * places.size()));
    out += bytes_of(static_cast<std::uint16_t>(inside.size()));
    for (const std::uint16_t place : places) out += bytes_of(place);
    pad(out, 8, 0);
    const std::size_t at = out.size();
    inside.replace(0, 4, bytes_of(static_cast<std::int32_t>(at - places_at)));
    out += inside;
    for (const std::size_t field : order) {
      if (slots_[field].child) set_offset(out, at + places[field], slots_[field].child->write(out));
    }
    return at;
  }

  Kind kind_;
  std::vector<Slot> slots_;     // of a table
  std::vector<Node> children_;  // of a vector of nodes
  std::string bytes_;           // of a text or structs
  std::size_t count_ = 0;       // of structs
};

}  // namespace gpuprof::exporting::flat
