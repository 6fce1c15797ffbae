#include "libprof/compute/memory/torch_snapshot.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/saturating.hpp"

namespace gpuprof::memory {
namespace {

// The words that matter; all others are none.
enum class Word : std::uint8_t {
  none,
  segments,
  device_traces,
  address,
  total_size,
  stream,
  segment_type,
  allocated_size,
  active_size,
  requested_size,
  blocks,
  device,
  is_expandable,
  size,
  state,
  active_allocated,
  active_pending_free,
  active_awaiting_free,
  inactive,
  small,
  large,
  action,
  snapshot,
  time_us,
};
constexpr std::array<std::string_view, 24> words{"",
                                                 "segments",
                                                 "device_traces",
                                                 "address",
                                                 "total_size",
                                                 "stream",
                                                 "segment_type",
                                                 "allocated_size",
                                                 "active_size",
                                                 "requested_size",
                                                 "blocks",
                                                 "device",
                                                 "is_expandable",
                                                 "size",
                                                 "state",
                                                 "active_allocated",
                                                 "active_pending_free",
                                                 "active_awaiting_free",
                                                 "inactive",
                                                 "small",
                                                 "large",
                                                 "action",
                                                 "snapshot",
                                                 "time_us"};
constexpr std::size_t longest_word = 24;

Word word_of(std::string_view text) {
  const auto found = std::ranges::find(words, text);
  return found == words.end() ? Word::none : static_cast<Word>(found - words.begin());
}

struct Item {
  enum class Kind : std::uint8_t { other, number, word, list, dict };
  Kind kind = Kind::other;
  Word word = Word::none;
  Word key = Word::none;    // in a dict entry
  std::int64_t number = 0;  // for a list or dict: its index

  bool is_container() const { return kind == Kind::list || kind == Kind::dict; }
};

// The lists and dicts of a pickle. Keeps dict entries with a word that matters, list items that are
// non-empty lists or dicts, and one value for each run of other items.
class Unpickler {
 public:
  Unpickler(std::istream& in, std::string name, const std::function<void()>& check)
      : in_(in), name_(std::move(name)), check_(check) {}

  Item read();
  std::vector<Item>& items(const Item& container) {
    return containers_[static_cast<std::size_t>(container.number)];
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(name_ + ": " + why,
                "torch.cuda.memory._dump_snapshot() writes what can be read here",
                ExitCode::import_failed);
  }

 private:
  static constexpr std::size_t most_containers = 50'000'000, most_values = 100'000'000;
  static constexpr std::size_t deepest = 1'000'000;

  [[noreturn]] void refuse_end() const { refuse("the pickle ends in the middle"); }
  std::uint8_t byte() {
    const int next = in_.get();
    if (next < 0) refuse_end();
    return static_cast<std::uint8_t>(next);
  }
  std::uint64_t little_endian(int bytes) {
    std::uint64_t number = 0;
    for (int i = 0; i < bytes; ++i) number |= std::uint64_t{byte()} << (8 * i);
    return number;
  }
  void skip(std::uint64_t bytes);
  void text(std::uint64_t bytes);
  void whole(std::uint64_t bytes);
  void push(Item value) {
    if (stack_.size() >= deepest) refuse("it is nested too deep");
    stack_.push_back(value);
  }
  void push_number(std::int64_t number) { push({.kind = Item::Kind::number, .number = number}); }
  void push_container(Item::Kind kind);
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Item pop();
  // The position of the first value above the last mark.
  std::size_t pop_mark();
  void count_value() {
    if (++values_ > most_values) refuse_size();
  }
  [[noreturn]] void refuse_size() const {
    throw Error(name_ + ": the snapshot is too large",
                "torch.cuda.memory._record_memory_history(max_entries=100000) keeps less history",
                ExitCode::import_failed);
  }
  Item& container(Item::Kind kind);
  void append(std::size_t list, const Item& value);
  void set(std::size_t dict, const Item& key, Item value);
  void remember(std::uint64_t place);
  void recall(std::uint64_t place);
  bool step(std::uint8_t code);

  std::istream& in_;
  const std::string name_;
  const std::function<void()>& check_;
  std::vector<std::vector<Item>> containers_;
  std::vector<Item> stack_, memo_;
  std::vector<std::size_t> marks_;
  std::size_t values_ = 0;  // in containers and in the memo
};

void Unpickler::skip(std::uint64_t bytes) {
  while (bytes > 0) {
    const auto part =
        static_cast<std::streamsize>(std::min<std::uint64_t>(bytes, std::uint64_t{1} << 20));
    in_.ignore(part);
    if (in_.gcount() < part) refuse_end();
    bytes -= static_cast<std::uint64_t>(part);
    check_();
  }
}

void Unpickler::text(std::uint64_t bytes) {
  if (bytes > longest_word) {
    skip(bytes);
    return push({});
  }
  char word[longest_word];
  const auto size = static_cast<std::streamsize>(bytes);
  in_.read(word, size);
  if (in_.gcount() < size) refuse_end();
  push({.kind = Item::Kind::word, .word = word_of({word, static_cast<std::size_t>(bytes)})});
}

// An integer of any size; those that do not fit into 64 bits do not matter.
void Unpickler::whole(std::uint64_t bytes) {
  if (bytes > 8) {
    skip(bytes);
    return push({});
  }
  std::uint64_t number = little_endian(static_cast<int>(bytes));
  if (bytes > 0 && bytes < 8 && number >> (8 * bytes - 1) != 0) {
    number |= ~std::uint64_t{0} << (8 * bytes);
  }
  push_number(static_cast<std::int64_t>(number));
}

void Unpickler::push_container(Item::Kind kind) {
  if (containers_.size() >= most_containers) refuse_size();
  push({.kind = kind, .number = static_cast<std::int64_t>(containers_.size())});
  containers_.emplace_back();
}

Item Unpickler::pop() {
  if (stack_.size() <= floor()) refuse("it is no sound pickle");
  const Item value = stack_.back();
  stack_.pop_back();
  return value;
}

std::size_t Unpickler::pop_mark() {
  if (marks_.empty()) refuse("it is no sound pickle");
  const std::size_t begin = marks_.back();
  marks_.pop_back();
  return begin;
}

Item& Unpickler::container(Item::Kind kind) {
  if (stack_.size() <= floor() || stack_.back().kind != kind) refuse("it is no sound pickle");
  return stack_.back();
}

void Unpickler::append(std::size_t list, const Item& value) {
  std::vector<Item>& items = containers_[list];
  if (value.is_container() && !containers_[static_cast<std::size_t>(value.number)].empty()) {
    count_value();
    items.push_back(value);
  } else if (items.empty() || items.back().is_container()) {
    count_value();
    items.emplace_back();
  }
}

void Unpickler::set(std::size_t dict, const Item& key, Item value) {
  if (key.kind != Item::Kind::word || key.word == Word::none) return;
  value.key = key.word;
  std::vector<Item>& entries = containers_[dict];  // at most one per word
  const auto found = std::ranges::find(entries, key.word, &Item::key);
  if (found != entries.end()) {
    *found = value;
    return;
  }
  count_value();
  entries.push_back(value);
}

void Unpickler::remember(std::uint64_t place) {
  if (stack_.size() <= floor()) refuse("it is no sound pickle");
  // Picklers number them consecutively.
  if (place > memo_.size()) refuse("it is no sound pickle");
  if (place < memo_.size()) {
    memo_[place] = stack_.back();
  } else {
    count_value();
    memo_.push_back(stack_.back());
  }
}

void Unpickler::recall(std::uint64_t place) {
  if (place >= memo_.size()) refuse("it is no sound pickle");
  push(memo_[place]);
}

// False: that was the last one.
bool Unpickler::step(std::uint8_t code) {
  switch (code) {
    case 0x80:  // PROTO
      if (byte() > 5) refuse("the pickle is of a protocol that is not known");
      break;
    case 0x95: little_endian(8); break;  // FRAME
    case '}': push_container(Item::Kind::dict); break;
    case ']': push_container(Item::Kind::list); break;
    case ')':
    case 'N': push({}); break;
    case 0x88: push_number(1); break;  // True
    case 0x89: push_number(0); break;
    case '(':
      if (marks_.size() >= deepest) refuse("it is nested too deep");
      marks_.push_back(stack_.size());
      break;
    case 't':  // tuples do not matter
      stack_.resize(pop_mark());
      push({});
      break;
    case 0x85:
    case 0x86:
    case 0x87:
      for (int i = 0x85; i <= code; ++i) pop();
      push({});
      break;
    case 'K': push_number(byte()); break;
    case 'M': push_number(static_cast<std::int64_t>(little_endian(2))); break;
    case 'J':
      push_number(static_cast<std::int32_t>(static_cast<std::uint32_t>(little_endian(4))));
      break;
    case 0x8a: whole(byte()); break;
    case 0x8b: whole(little_endian(4)); break;
    case 'G':  // a float
      skip(8);
      push({});
      break;
    case 0x8c: text(byte()); break;
    case 'X': text(little_endian(4)); break;
    case 0x8d: text(little_endian(8)); break;
    case 'C':  // bytes
      skip(byte());
      push({});
      break;
    case 'B':
      skip(little_endian(4));
      push({});
      break;
    case 'q': remember(byte()); break;
    case 'r': remember(little_endian(4)); break;
    case 0x94: remember(memo_.size()); break;
    case 'h': recall(byte()); break;
    case 'j': recall(little_endian(4)); break;
    case 'a': {
      const Item value = pop();
      append(static_cast<std::size_t>(container(Item::Kind::list).number), value);
      break;
    }
    case 'e': {
      const std::size_t begin = pop_mark();
      if (begin <= floor() || stack_[begin - 1].kind != Item::Kind::list) {
        refuse("it is no sound pickle");
      }
      const auto list = static_cast<std::size_t>(stack_[begin - 1].number);
      for (std::size_t i = begin; i < stack_.size(); ++i) append(list, stack_[i]);
      stack_.resize(begin);
      break;
    }
    case 's': {
      const Item value = pop(), key = pop();
      set(static_cast<std::size_t>(container(Item::Kind::dict).number), key, value);
      break;
    }
    case 'u': {
      const std::size_t begin = pop_mark();
      if (begin <= floor() || stack_[begin - 1].kind != Item::Kind::dict ||
          (stack_.size() - begin) % 2 != 0) {
        refuse("it is no sound pickle");
      }
      const auto dict = static_cast<std::size_t>(stack_[begin - 1].number);
      for (std::size_t i = begin; i < stack_.size(); i += 2) set(dict, stack_[i], stack_[i + 1]);
      stack_.resize(begin);
      break;
    }
    case '.': return false;
    default: {
      char text[8];
      std::snprintf(text, sizeof text, "0x%02x", code);
      refuse(std::string("it wants more than lists, dicts, words and numbers (code ") + text +
             "), which no snapshot does; nothing of it was run");
    }
  }
  return true;
}

Item Unpickler::read() {
  // In older protocols, numbers and booleans are text.
  if (in_.peek() != 0x80) refuse("it is no pickle of protocol 2 or newer");
  for (std::uint64_t steps = 0; step(byte()); ++steps) {
    if (steps % 65536 == 0) check_();
  }
  return pop();
}

// Builds segments from the values.
class Snapshot {
 public:
  explicit Snapshot(Unpickler& pickle) : pickle_(pickle) {}

  TorchSnapshot take(const Item& all) {
    TorchSnapshot snapshot;
    const Item* segments = &all;  // from torch.cuda.memory_snapshot()
    if (all.kind == Item::Kind::dict) {
      segments = find(all, Word::segments);
      if (const Item* traces = find(all, Word::device_traces)) read_times(*traces, snapshot);
    }
    if (!segments || segments->kind != Item::Kind::list) {
      pickle_.refuse("there are no segments in it: it is no snapshot of PyTorch's memory");
    }
    for (const Item& each : taken(*segments)) {
      ++number_;
      if (each.kind != Item::Kind::dict) refuse("no dict");
      snapshot.segments.push_back(segment(each));
    }
    sort(snapshot.segments);
    return snapshot;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    pickle_.refuse("segment " + std::to_string(number_) + ": " + why);
  }
  const Item* find(const Item& dict, Word key) {
    const std::vector<Item>& entries = pickle_.items(dict);
    const auto found = std::ranges::find(entries, key, &Item::key);
    return found == entries.end() ? nullptr : &*found;
  }
  // Each list is traversed once, however often the file refers to it.
  std::vector<Item> taken(const Item& list) { return std::exchange(pickle_.items(list), {}); }

  // A number that is not negative. `otherwise`: the value if missing; negative: missing is an
  // error.
  std::int64_t number(const Item& dict, Word key, std::int64_t otherwise) {
    const Item* value = find(dict, key);
    if (!value && otherwise >= 0) return otherwise;
    if (!value || value->kind != Item::Kind::number || value->number < 0) {
      refuse(std::string(words[static_cast<std::size_t>(key)]) + " is no number of 0 or more");
    }
    return value->number;
  }
  Word word(const Item& dict, Word key) {
    const Item* value = find(dict, key);
    return value && value->kind == Item::Kind::word ? value->word : Word::none;
  }

  TorchSegment segment(const Item& its) {
    TorchSegment made{.device = number(its, Word::device, 0),
                      .address = number(its, Word::address, -1),
                      .bytes = number(its, Word::total_size, -1)};
    if (const Item* stream = find(its, Word::stream)) made.stream = stream->number;
    if (made.address > INT64_MAX - made.bytes) refuse("it ends behind all memory");
    made.expandable = number(its, Word::is_expandable, 0) != 0;
    const Word type = word(its, Word::segment_type);
    if (type == Word::small || type == Word::large) {
      made.type = words[static_cast<std::size_t>(type)];
    }
    const Item* blocks = find(its, Word::blocks);
    if (blocks && blocks->kind != Item::Kind::list) refuse("blocks is no list");
    if (!blocks) {
      made.allocated = number(its, Word::allocated_size, -1);
      made.active = number(its, Word::active_size, made.allocated);
      made.requested = number(its, Word::requested_size, made.active);
    } else {
      add_blocks(made, *blocks);
    }
    if (made.active > made.bytes || made.allocated > made.active) {
      refuse("more of it is in use than it has");
    }
    return made;
  }

  void add_blocks(TorchSegment& segment, const Item& blocks) {
    std::int64_t sum = 0;
    for (const Item& block : taken(blocks)) {
      if (block.kind != Item::Kind::dict) refuse("a block is no dict");
      const std::int64_t size = number(block, Word::size, -1);
      const Word state = word(block, Word::state);
      ++segment.blocks;
      sum = saturating_add(sum, size);
      if (state == Word::inactive) {
        segment.largest_free = std::max(segment.largest_free, size);
        continue;
      }
      const bool allocated = state == Word::active_allocated;
      if (!allocated && state != Word::active_pending_free && state != Word::active_awaiting_free) {
        refuse("a block has no state that is known");
      }
      if (allocated) segment.allocated = saturating_add(segment.allocated, size);
      segment.active = saturating_add(segment.active, size);
      segment.requested =
          saturating_add(segment.requested, number(block, Word::requested_size, size));
    }
    if (sum > segment.bytes) refuse("its blocks are larger than it is");
  }

  // With history enabled, each snapshot leaves an entry there.
  void read_times(const Item& traces, TorchSnapshot& snapshot) {
    if (traces.kind != Item::Kind::list) return;
    for (const Item& device : taken(traces)) {
      if (device.kind != Item::Kind::list) continue;
      for (const Item& entry : taken(device)) {
        if (entry.kind != Item::Kind::dict || word(entry, Word::action) != Word::snapshot) continue;
        const Item* time = find(entry, Word::time_us);
        if (!time || time->kind != Item::Kind::number || time->number <= 0) continue;
        const std::int64_t ns = saturating_multiply(time->number, 1000);
        snapshot.taken_at = std::max(snapshot.taken_at.value_or(ns), ns);
      }
    }
  }

  void sort(std::vector<TorchSegment>& segments) {
    const auto place = [](const TorchSegment& each) {
      return std::tuple(each.device, each.address);
    };
    std::ranges::stable_sort(segments, {}, place);
    for (std::size_t i = 1; i < segments.size(); ++i) {
      if (segments[i].device == segments[i - 1].device &&
          segments[i].address < segments[i - 1].end()) {
        pickle_.refuse("segments overlap");
      }
    }
  }

  Unpickler& pickle_;
  std::size_t number_ = 0;  // the segment's number, from 1
};

}  // namespace

TorchSnapshot read_torch_snapshot(std::istream& pickle, const std::string& name,
                                  const std::function<void()>& check) {
  Unpickler unpickler(pickle, name, check);
  const Item all = unpickler.read();
  return Snapshot(unpickler).take(all);
}

TorchSnapshot read_torch_snapshot(const std::string& path, const std::function<void()>& check) {
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(path, error);
  std::ifstream file;
  if (regular) file.open(path, std::ios::binary);
  if (!file.is_open()) {
    const std::string why = error     ? error.message()
                            : regular ? std::strerror(errno)
                                      : "it is no regular file";
    throw Error(path + ": " + why, "", ExitCode::import_failed);
  }
  return read_torch_snapshot(file, path, check);
}

}  // namespace gpuprof::memory
