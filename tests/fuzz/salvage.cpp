// Salvages an arena that a target left behind, in whatever state.
//
// The input is a list of orders that build the arena: they add records, strings and launches to a
// valid arena, or corrupt what is there, so that most inputs get past the first checks. Salvage
// must send only batches that decode, with rows of their tables' widths, and statistics.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <thread>

#include "libprof/collect/arena.hpp"
#include "libprof/collect/made_records.hpp"
#include "libprof/collect/packer.hpp"
#include "libprof/collect/salvage.hpp"
#include "libprof/wire/messages.hpp"
#include "tests/fuzz/support.hpp"

namespace gpuprof::fuzz {
namespace {

using collect::LaunchEntry;
using collect::SlotHeader;
using collect::StringEntry;

constexpr std::uint32_t cupti_version = 130500;  // as reported by the stand-in

// Reads the input from its beginning; zeros after its end.
class Orders {
 public:
  explicit Orders(Input input) : input_(input) {}
  bool done() const { return at_ >= input_.size(); }
  template <class T>
  T next() {
    T value{};
    const std::size_t count = std::min(sizeof value, input_.size() - at_);
    std::memcpy(&value, input_.data() + at_, count);
    at_ += count;
    return value;
  }

 private:
  Input input_;
  std::size_t at_ = 0;
};

// The size of the stand-in's records, determined as salvage does; 0: no records of that kind.
std::size_t record_size(std::uint32_t kind) {
  static const auto next = [] {
    void* library = dlopen(GPUPROF_FAKE_CUPTI, RTLD_NOW);
    void* function = library ? dlsym(library, "cuptiActivityGetNextRecord") : nullptr;
    if (!function) finding("no stand-in for libcupti: " GPUPROF_FAKE_CUPTI);
    return reinterpret_cast<decltype(&::cuptiActivityGetNextRecord)>(function);
  }();
  static std::map<std::uint32_t, std::size_t> sizes;
  const auto [size, fresh] = sizes.try_emplace(kind, 0);
  if (!fresh) return size->second;
  alignas(8) std::array<std::uint32_t, 1024> buffer;
  buffer.fill(kind);
  auto* bytes = reinterpret_cast<std::uint8_t*>(buffer.data());
  CUpti_Activity* record = nullptr;
  for (int records = 0; records < 2; ++records) {
    if (next(bytes, sizeof buffer, &record) != CUPTI_SUCCESS) return 0;
  }
  return size->second = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(record) - bytes);
}

// Pointers of the dead target, shared by strings and records so that they match.
constexpr std::array<std::uint64_t, 8> pointers{0, 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 5, 8};

class ArenaImage {
 public:
  explicit ArenaImage(std::uint32_t slots) : used_(slots) {
    std::size_t size = 2 * page;  // the header and the slot headers
    const auto reserve = [&size](std::size_t bytes) {
      const std::size_t offset = size;
      size += (bytes + 63) / 64 * 64;
      return offset;
    };
    layout_.magic = collect::arena_magic;
    layout_.version = collect::arena_version;
    layout_.slot_count = slots;
    layout_.slot_size = slot_size;
    layout_.entry_count = layout_.name_count = layout_.launch_count = entries;
    layout_.entries_offset = reserve(entries * sizeof(StringEntry));
    layout_.names_offset = reserve(entries * sizeof(StringEntry));
    layout_.text_size = layout_.names_text_size = text_size;
    layout_.text_offset = reserve(text_size);
    layout_.names_text_offset = reserve(text_size);
    layout_.launches_offset = reserve(entries * sizeof(LaunchEntry));
    layout_.call_slot_count = slots;
    layout_.call_slot_size = slot_size;
    layout_.call_slots_offset = reserve(slots * slot_size);
    layout_.slots_offset = size;
    layout_.own_threads[0] = 77;
    bytes_.resize(size + slots * slot_size);
    std::memcpy(bytes_.data(), static_cast<const void*>(&layout_), sizeof layout_);
    put(wire::ledger_offset, wire::ledger_magic);
    for (std::uint32_t slot = 0; slot < slots; ++slot) set_slot(slot, 1, 1);
    for (const std::size_t text : {layout_.text_offset, layout_.names_text_offset}) {
      std::memcpy(&bytes_[text], "_Z6kernelPfi\0WaitNs\0_Z5namedIfEvT_", 34);
    }
  }

  Input bytes() const { return bytes_; }

  // Whether a slot holds a packed batch: its contents are the target's and are forwarded unchanged.
  bool keeps_batches() const {
    for (std::uint32_t slot = 0; slot < slots(); ++slot) {
      std::uint32_t state = 0;
      const std::size_t place = page + slot * sizeof(SlotHeader);
      if (place + sizeof state <= bytes_.size()) std::memcpy(&state, &bytes_[place], sizeof state);
      if (state == static_cast<std::uint32_t>(collect::SlotState::packed)) return true;
    }
    return false;
  }

  void obey(Orders& orders) {
    switch (orders.next<std::uint8_t>() % 10) {
      case 0: add_string(orders); break;
      case 1: add_launch(orders); break;
      case 2: {
        const auto slot = orders.next<std::uint8_t>();
        set_slot(slot % slots(), slot / 16u, orders.next<std::uint8_t>());
        break;
      }
      case 3: overwrite(orders); break;
      case 4:
        // Rarely, because most of the following orders would then not fit.
        if (orders.next<std::uint8_t>() == 0) {
          bytes_.resize(std::min<std::size_t>(bytes_.size(), orders.next<std::uint32_t>()));
        }
        break;
      case 8: keep_batch(orders); break;
      case 9: record_calls(orders); break;
      default: add_record(orders);
    }
  }

 private:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t slot_size = 4096;
  static constexpr std::size_t entries = 16;
  static constexpr std::size_t text_size = 1024;

  std::uint32_t slots() const { return static_cast<std::uint32_t>(used_.size()); }

  template <class T>
  void put(std::size_t place, const T& value) {
    if (place + sizeof value <= bytes_.size()) std::memcpy(&bytes_[place], &value, sizeof value);
  }

  void set_slot(std::uint32_t slot, std::uint32_t state, std::uint32_t generation) {
    const std::uint32_t header[] = {state, generation};
    put(page + slot * sizeof(SlotHeader), header);
  }

  // A batch that waits in a slot for a stalled launcher: a header and some contents.
  void keep_batch(Orders& orders) {
    const std::uint32_t slot = orders.next<std::uint8_t>() % slots();
    const std::uint32_t length = orders.next<std::uint16_t>() % (slot_size + 8);
    const std::uint64_t turn = orders.next<std::uint8_t>();
    const std::uint32_t header[] = {static_cast<std::uint32_t>(collect::SlotState::packed), 1, 0,
                                    length};
    const std::size_t place = page + slot * sizeof(SlotHeader);
    put(place, header);
    put(place + offsetof(SlotHeader, turn), turn);
    put(layout_.slots_offset + slot * slot_size, orders.next<wire::BatchHeader>());
  }

  // A thread's slot with records of calls, of which some have been sent.
  void record_calls(Orders& orders) {
    const std::uint32_t slot = slots() + orders.next<std::uint8_t>() % slots();
    const std::size_t header = page + slot * sizeof(SlotHeader);
    const auto position = [&] {
      const auto how = orders.next<std::uint8_t>();
      return how & 128 ? how * 4u : how % 64 * std::uint32_t{sizeof(CUpti_ActivityAPI)};
    };
    set_slot(slot, 5 + orders.next<std::uint8_t>() % 2, 1);
    put(header + offsetof(SlotHeader, used), position());
    put(header + offsetof(SlotHeader, sent), position());
    put(header + offsetof(SlotHeader, sending),
        collect::CallBatch{position(), orders.next<std::uint8_t>() % 2u});
    CUpti_ActivityAPI call{};
    call.kind =
        orders.next<std::uint8_t>() & 1 ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
    call.threadId = orders.next<std::uint8_t>();
    const std::size_t begin = layout_.call_slots_offset + (slot - slots()) * slot_size;
    const std::size_t place = orders.next<std::uint8_t>() % 64 * sizeof call;
    put(begin + place, call);
    // Entries of NVTX instead, and what they refer to.
    const auto what = orders.next<std::uint8_t>();
    const std::uint32_t text = orders.next<std::uint8_t>() * 8u;
    if (what & 1) {
      put(begin + place,
          collect::MarkerEntry{collect::Entry::marker, what, what, 1, 2, text, text});
    }
    if (what & 2) {
      put(begin + place,
          collect::MarkerDataEntry{collect::Entry::marker_data, 2, 1, text, 6, 0, 0, 1});
    }
    if (what & 4) {
      put(begin + text,
          collect::BytesEntry{collect::Entry::bytes, 0, what * std::uint32_t{257}, 17});
    }
  }

  // Adds a record after the slot's last one, with some of its words set.
  void add_record(Orders& orders) {
    auto kind = orders.next<std::uint8_t>() % 64u;
    const auto how = orders.next<std::uint8_t>();
    const std::size_t slot = how % slots();
    const std::size_t size = record_size(kind);
    if (size == 0 || used_[slot] + size > slot_size) return;
    const std::size_t start = layout_.slots_offset + slot * slot_size + used_[slot];
    used_[slot] += size;
    if (how & 128) kind |= 0x80000000;  // begun but not finished
    put(start, kind);
    for (int words = how >> 3 & 15; words > 0; --words) {
      const std::size_t place = 8 + orders.next<std::uint8_t>() * 8u % size;
      const auto what = orders.next<std::uint8_t>();
      const std::uint64_t value =
          what & 128 ? pointers[what % pointers.size()] : std::uint64_t{what} << (what & 56);
      if (place + sizeof value <= size) put(start + place, value);
    }
  }

  // Adds a string where salvage will look for it, in the strings or in the names of launches.
  void add_string(Orders& orders) {
    const auto how = orders.next<std::uint8_t>();
    const std::size_t offset = how & 1 ? layout_.names_offset : layout_.entries_offset;
    const std::uint64_t pointer = pointers[how / 2 % pointers.size()];
    if (offset + entries * sizeof(StringEntry) > bytes_.size()) return;
    const collect::StringTable table{{reinterpret_cast<StringEntry*>(&bytes_[offset]), entries},
                                     {}};
    StringEntry* const entry = table.find(pointer);
    if (!entry) return;
    entry->id = orders.next<std::uint8_t>();
    entry->offset = orders.next<std::uint16_t>() % (text_size + 8);
    entry->length = orders.next<std::uint16_t>() % (text_size + 8);
    entry->pointer = pointer;
  }

  void add_launch(Orders& orders) {
    const auto correlation = orders.next<std::uint8_t>();
    const std::uint32_t launch[] = {correlation, orders.next<std::uint8_t>()};
    put(layout_.launches_offset + correlation % entries * sizeof launch, launch);
  }

  // Overwrites an arbitrary place; often the header.
  void overwrite(Orders& orders) {
    const auto how = orders.next<std::uint8_t>();
    const std::size_t place = how & 1 ? how / 2 * 8u % sizeof layout_
                                      : orders.next<std::uint32_t>() % (bytes_.size() + 1);
    put(place, orders.next<std::uint64_t>());
  }

  collect::ArenaHeader layout_{};  // the original, whatever overwrites it in bytes_
  Bytes bytes_;
  std::vector<std::size_t> used_;  // bytes used in each slot
};

std::map<std::uint32_t, std::size_t> row_widths() {
  std::map<std::uint32_t, std::size_t> widths;
  for (const wire::WireTable& table : collect::wire_tables(cupti_version)) {
    widths[table.id] = table.row_width();
  }
  return widths;
}

void check(const wire::Frame& frame) {
  static const auto widths = row_widths();
  if (frame.type == wire::FrameType::statistics) {
    if (!wire::decode_statistics(frame.payload())) finding("statistics that cannot be read");
    return;
  }
  if (frame.type != wire::FrameType::batch) return;
  const auto batch = wire::decode_batch(frame.payload());
  if (!batch) finding("a batch that cannot be read");
  for (const wire::Block& block : batch->blocks) {
    if (block.table == wire::string_block || block.table == wire::bytes_block) {
      if (!wire::decode_strings(block)) finding("strings that cannot be read");
      continue;
    }
    const auto width = widths.find(block.table);
    if (width == widths.end()) finding("rows of no table");
    if (block.bytes.size() != block.rows * width->second) finding("rows of another width");
  }
}

// Reads what salvage sends until it closes its end. Returns the number of batches.
int read_frames(int socket, bool check_all) {
  wire::FrameAssembler frames;
  int batches = 0;
  while (true) {
    const auto room = frames.room();
    if (room.empty()) finding("salvage sent what is no frame: " + frames.damaged());
    const ssize_t got = read(socket, room.data(), room.size());
    if (got <= 0) return batches;
    frames.filled(static_cast<std::size_t>(got));
    if (!frames.complete()) continue;
    const wire::Frame frame = frames.take();
    batches += frame.type == wire::FrameType::batch;
    if (check_all || frame.type != wire::FrameType::batch) check(frame);
  }
}

wire::Fields configuration(std::uint8_t how) {
  std::string kinds;
  for (int kind = 1; kind < 64; ++kind) kinds += std::to_string(kind) + ",";
  wire::Fields fields;
  fields.set("cupti", GPUPROF_FAKE_CUPTI);
  fields.set("received", how & 1 ? "0:1,1:7," : "");
  fields.set("kinds", kinds);
  fields.set("metrics", how & 2 ? "1" : "");
  return fields;
}

// The number of batches that salvage sends for the arena built by the orders.
int salvaged(Input input) {
  Orders orders(input);
  const auto how = orders.next<std::uint8_t>();
  ArenaImage image(1 + how / 4 % 4);
  while (!orders.done()) image.obey(orders);

  const int arena = memfd_create("arena", MFD_CLOEXEC);
  const Input bytes = image.bytes();
  int sockets[2];
  if (arena < 0 || write(arena, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    finding("no descriptors left");
  }
  int batches = 0;
  const bool check_all = !image.keeps_batches();
  std::thread reader([&] { batches = read_frames(sockets[0], check_all); });
  collect::salvage(arena, sockets[1], configuration(how));
  shutdown(sockets[0], SHUT_RDWR);
  reader.join();
  close(sockets[0]);
  // Salvage leaves closing its end to process exit.
  constexpr unsigned first_of_ours = 100;
  syscall(SYS_close_range, first_of_ours, 4000, 0);  // in glibc since 2.34
  return batches;
}

}  // namespace
}  // namespace gpuprof::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuprof::fuzz;
  // Otherwise nothing would be tested if the arena's layout changed.
  static const std::uint8_t one_kernel[] = {0, 5, 10, 0};
  static const std::uint8_t one_call[] = {0, 9, 0, 0, 1, 0, 0, 0, 1, 0, 0};
  static const int of_one_kernel = salvaged(one_kernel), of_one_call = salvaged(one_call);
  if (of_one_kernel != 1 || of_one_call != 2) finding("a sound arena is not read");
  salvaged({data, size});
  return 0;
}
