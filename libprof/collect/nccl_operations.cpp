#include "libprof/collect/nccl_operations.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "libprof/base/padded_text.hpp"
#include "libprof/base/word_hash.hpp"
#include "libprof/collect/nccl_types.hpp"
#include "libprof/wire/row_sender.hpp"

namespace gpuprof::collect {
namespace {

// The functions whose operations are counted each for itself; the last place is that of all others.
constexpr std::array<std::string_view, 11> known_functions{
    "AllGather", "AllReduce",     "AlltoAll", "Broadcast", "Gather",  "Recv",
    "Reduce",    "ReduceScatter", "Scatter",  "Send",      "SendRecv"};

// A text of NCCL's, which may be null or of any length.
template <std::size_t N>
std::array<char, N> short_text(const char* text, std::string_view without = {}) {
  std::array<char, N> kept{};
  if (!text) return kept;
  const std::string_view shown(text, strnlen(text, without.size() + N));
  const std::size_t from = shown.starts_with(without) ? without.size() : 0;
  shown.copy(kept.data(), N, from);
  return kept;
}

// As an algorithm of its own.
constexpr decltype(NcclOperationEntry::algorithm) copy_engines{'C', 'E'};

// Handles of the program's calls, which NCCL passes on with the operations that follow from them:
// whether the call is captured into a graph, and the type of its elements.
struct Call {
  static constexpr std::uintptr_t valid = 1, captured_bit = 2;
  static constexpr int type_at = 8;

  bool captured = false;
  std::size_t type = 0;  // nccl_type_number()

  void* handle() const {
    return reinterpret_cast<void*>(valid | (captured ? captured_bit : 0) | type << type_at);
  }
  static std::optional<Call> of(const void* handle) {
    const auto bits = reinterpret_cast<std::uintptr_t>(handle);
    const std::size_t type = bits >> type_at;
    if (!(bits & valid) || type > nccl_types.size()) return std::nullopt;
    return Call{(bits & captured_bit) != 0, type};
  }
};

std::size_t type_of(const char* name) {
  const auto kept = short_text<sizeof(NcclOperationEntry::type)>(name, "nccl");
  return nccl_type_number(unpadded(kept));
}

// Of the others NCCL's root is no rank.
bool has_root(std::string_view function) {
  return function == "Broadcast" || function == "Reduce" || function == "Gather" ||
         function == "Scatter";
}

// Numbers of nodes count up in each graph. Never 0.
std::uint64_t hash_of(std::uint64_t node) { return word_hash(0, node) | 1; }

NcclOperationEntry new_entry(const char* function, const char* type, std::size_t count) {
  NcclOperationEntry entry{};
  entry.entry = Entry::nccl_operation;
  entry.count = count;
  entry.root = entry.peer = entry.channels = -1;
  entry.function = short_text<sizeof entry.function>(function);
  entry.type = short_text<sizeof entry.type>(type, "nccl");
  return entry;
}

template <class Coll>
NcclOperationEntry entry_of(const Coll& collective) {
  NcclOperationEntry entry = new_entry(collective.function, collective.type, collective.count);
  if (has_root(unpadded(entry.function))) entry.root = collective.root;
  return entry;
}

// NCCL counts the elements of these as bytes; the call had others.
void use_type_of(const Call& call, NcclOperationEntry& entry) {
  if (call.type == 0 || unpadded(entry.type) != "Int8") return;
  const NcclType& type = nccl_types[call.type - 1];
  if (entry.count % type.size != 0) return;
  entry.count /= type.size;
  entry.type = {};
  std::ranges::copy(type.name, entry.type.begin());
}

}  // namespace

std::vector<wire::WireTable> NcclOperations::tables() {
  return {wire::definition_of<schema::NcclOperation>(), wire::definition_of<schema::NcclNode>()};
}

NcclOperations::Memory* NcclOperations::make_memory() {
  Memory* there = memory_.load(std::memory_order_acquire);
  if (there) return there;
  std::unique_ptr<Memory> made(new (std::nothrow) Memory);
  if (made && memory_.compare_exchange_strong(there, made.get())) return made.release();
  return there;
}

NcclContext NcclOperations::begin(const Communicator& communicator) {
  Memory* const memory = make_memory();
  for (std::size_t i = 0; memory && i < memory->communicators.size(); ++i) {
    Known& known = memory->communicators[i];
    if (known.taken.exchange(true)) continue;
    known.rank = communicator.rank;
    known.ranks = communicator.ranks;
    known.name = short_text<sizeof known.name>(communicator.name);
    for (auto& count : known.sequence) count.store(0, std::memory_order_relaxed);
    known.id.store(communicator.id, std::memory_order_release);
    return reinterpret_cast<NcclContext>(i + 1);
  }
  return nullptr;
}

void NcclOperations::end(NcclContext context) {
  if (Known* const it = known(context)) it->taken.store(false);
}

NcclOperations::Known* NcclOperations::known(NcclContext context) {
  Memory* const memory = memory_.load(std::memory_order_acquire);
  const std::size_t place = reinterpret_cast<std::uintptr_t>(context) - 1;
  return memory && place < most_communicators ? &memory->communicators[place] : nullptr;
}

void NcclOperations::begin_group() {
  ThreadSlots::Thread& thread = slots_.here();
  thread.nccl = std::exchange(thread.launched, {});
}

void NcclOperations::write(NcclContext context, const void* call, int rank,
                           NcclOperationEntry entry) {
  Known* const communicator = known(context);
  if (!communicator) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  static_assert(most_functions == known_functions.size() + 1);
  // Counted in all ranks alike, whether or not the trace has it.
  const auto function = std::ranges::find(known_functions, unpadded(entry.function));
  const auto place = static_cast<std::size_t>(function - known_functions.begin());
  entry.sequence = communicator->sequence[place].fetch_add(1, std::memory_order_relaxed);
  ThreadSlots::Thread& thread = slots_.here();
  if (!on_.load(std::memory_order_relaxed) || thread.left_out || thread.trace == 0) return;
  if (entry.communicator == 0) entry.communicator = communicator->id.load();
  if (entry.name[0] == 0) entry.name = communicator->name;
  entry.rank = communicator->rank < 0 ? rank : communicator->rank;
  entry.ranks = communicator->ranks;
  entry.time = slots_.now();
  if (entry.algorithm != copy_engines) {
    entry.correlation = thread.nccl.correlation;
    entry.node = thread.nccl.node;
  }
  const std::optional<Call> of_call = Call::of(call);
  if (of_call) use_type_of(*of_call, entry);
  if (of_call || entry.node != 0) entry.flags |= NcclOperationEntry::says_captured;
  if ((of_call && of_call->captured) || entry.node != 0)
    entry.flags |= NcclOperationEntry::captured;
  if (add(thread, entry) && entry.node != 0) add_node(thread, entry.node, entry.node);
}

template <class T>
bool NcclOperations::add(ThreadSlots::Thread& thread, const T& entry) {
  if (!slots_.make_room(thread, sizeof entry)) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  std::memcpy(thread.end(), &entry, sizeof entry);
  thread.written(sizeof entry);
  return true;
}

// --- nodes of graphs

void NcclOperations::add_node(ThreadSlots::Thread& thread, std::uint64_t node,
                              std::uint64_t source) {
  Memory& memory = *memory_.load(std::memory_order_acquire);
  const std::uint32_t number = memory.nodes.number_of(hash_of(node));
  if (number == 0) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (!memory.nodes.take(number)) return;  // of an operation of the same kernel
  memory.sources[number - 1].store(source, std::memory_order_release);
  add(thread, NcclNodeEntry{Entry::nccl_node, 0, 0, node, source});
}

void NcclOperations::node_made(ThreadSlots::Thread& thread, std::uint64_t node) {
  if (thread.launched.node == 0) thread.launched.node = node;
}

void NcclOperations::node_cloned(ThreadSlots::Thread& thread, std::uint64_t node,
                                 std::uint64_t original) {
  const Memory* const memory = memory_.load(std::memory_order_acquire);
  const std::uint32_t number = memory ? memory->nodes.find(hash_of(original)) : 0;
  if (number == 0 || !on_.load(std::memory_order_relaxed)) return;
  const std::uint64_t source = memory->sources[number - 1].load(std::memory_order_acquire);
  if (source != 0) add_node(thread, node, source);
}

// --- events, by version

namespace {

void name_communicator(const nccl::Event3&, const auto& its, NcclOperationEntry& entry) {
  entry.communicator = its.communicator;
  entry.name = short_text<sizeof entry.name>(its.communicator_name);
}
template <class E>
void name_communicator(const E&, const auto&, NcclOperationEntry&) {}

}  // namespace

template <class E>
void* NcclOperations::take(NcclContext context, const E& event) {
  if (slots_.trace() == 0) return nullptr;
  const Costs::Callback timed(slots_.costs(), slots_.here().timed, wire::Count::cost_api);
  switch (std::uint64_t{event.kind}) {
    case nccl::group: begin_group(); break;
    case nccl::collective_call:
      return Call{event.collective_call.captured, type_of(event.collective_call.type)}.handle();
    case nccl::transfer_call: return Call{event.transfer_call.captured, 0}.handle();
    case nccl::collective: {
      const auto& its = event.collective;
      NcclOperationEntry entry = entry_of(its);
      entry.algorithm = short_text<sizeof entry.algorithm>(its.algorithm);
      entry.protocol = short_text<sizeof entry.protocol>(its.protocol);
      entry.channels = its.channels;
      name_communicator(event, its, entry);
      write(context, event.parent, event.rank, entry);
      break;
    }
    case nccl::transfer: {
      const auto& its = event.transfer;
      NcclOperationEntry entry = new_entry(its.function, its.type, its.count);
      entry.peer = its.peer;
      if constexpr (requires { its.channels; }) entry.channels = its.channels;
      name_communicator(event, its, entry);
      write(context, event.parent, event.rank, entry);
      break;
    }
    case nccl::copied_collective: {
      NcclOperationEntry entry = entry_of(event.copied);
      entry.algorithm = copy_engines;
      write(context, event.parent, event.rank, entry);
      break;
    }
    default: break;
  }
  return nullptr;
}

template void* NcclOperations::take(NcclContext, const nccl::Event3&);
template void* NcclOperations::take(NcclContext, const nccl::Event4&);
template void* NcclOperations::take(NcclContext, const nccl::Event5&);

}  // namespace gpuprof::collect
