// Strings by id: the text a record points to is sent once, and referred to by id from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libprof/collect/arena.hpp"

namespace gpuprof::collect {

// New strings of a batch, encoded as a string block: { u32 id, u32 length, bytes } each.
class StringBlock {
 public:
  void add(std::uint32_t id, std::string_view text);
  void clear();
  std::uint32_t count() const { return count_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::uint32_t count_ = 0;
};

// Assigns ids to strings. One thread at a time.
class Strings {
 public:
  virtual ~Strings() = default;
  // The id of a C string of the target, 0 for null.
  virtual std::uint32_t intern(const char* text) = 0;
  // The id of a text that is at hand, but not for long.
  std::uint32_t intern_text(std::string_view text);
  // Whether a C string of the target is known to equal `what`.
  virtual bool reads(const char* text, std::string_view what) const = 0;
  // The id of `size` raw bytes, 0 for none. Never shared between rows.
  std::uint32_t bytes(const void* data, std::size_t size);

  // Strings that are new since clear(): to be sent with the rows that use them.
  const StringBlock& fresh() const { return fresh_; }
  const StringBlock& fresh_bytes() const { return fresh_bytes_; }
  // Call between batches.
  virtual void clear() {
    fresh_.clear();
    fresh_bytes_.clear();
    last_bytes_id_ = 0;
  }

 protected:
  // An id that was not used before, with its text; 0 when ids run out.
  virtual std::uint32_t add(std::string_view text) = 0;
  void forget_texts();

  StringBlock fresh_;
  StringBlock fresh_bytes_;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> texts_;  // intern_text()'s
  std::size_t texts_bytes_ = 0;
  std::uint32_t last_bytes_id_ = 0;  // within this batch
};

// In the target: a table by pointer, kept in the arena. A pointer is trusted only while its text is
// unchanged, because CUPTI and NVTX reuse memory.
//
// Ids start over occasionally, between batches: a program may produce new NVTX messages for weeks,
// and readers of the stream keep only the latest ids (store/string_ids.hpp).
class LiveStrings : public Strings {
 public:
  // Only within one batch may more ids be assigned.
  static constexpr std::uint32_t most_ids = 1 << 17;

  explicit LiveStrings(const Arena& arena) : table_(arena.strings()) {}

  std::uint32_t intern(const char* text) override;
  bool reads(const char* text, std::string_view what) const override {
    return text && what == text;
  }
  void clear() override;

 private:
  std::uint32_t add(std::string_view text) override;
  void start_over();

  StringTable table_;
  std::uint32_t last_id_ = 0;
  std::size_t used_entries_ = 0;
  std::size_t used_text_ = 0;
};

// In the launcher's salvage: the table the target left behind. Its pointers are no longer valid.
// The texts together are limited to the arena's room for them: a forged table could refer to one
// text in all its entries.
class LeftStrings : public Strings {
 public:
  explicit LeftStrings(const Arena& arena);

  std::uint32_t intern(const char* text) override;
  bool reads(const char* text, std::string_view what) const override;

  // Registers the name recorded for a launch under the pointer in its record, unless that is
  // already known.
  void learn(const char* pointer, std::uint32_t correlation_id);

  std::uint64_t lost() const { return lost_; }

 private:
  // The target's entry for the pointer; null: missing or inconsistent.
  const StringEntry* left(const char* text) const;
  std::uint32_t add(std::string_view text) override;
  // Reserves room for a text and its terminating zero. false: an honest table does not hold that
  // much.
  static bool take(std::string_view text, std::size_t& room);

  StringTable table_;
  StringTable launch_names_;
  std::span<std::atomic<std::uint64_t>> launches_;
  std::vector<bool> left_out_;  // entries for whose text there was no room
  std::size_t names_room_;      // for texts of launch names
  std::map<const StringEntry*, std::uint32_t> name_ids_;  // of launch names that were learned
  std::map<std::uint64_t, std::uint32_t> learned_;        // ids by pointer
  std::uint32_t last_id_ = 0;
  std::uint32_t lost_id_ = 0;
  std::uint64_t lost_ = 0;
};

// In the target: the kernel of each launch, from the launch callback. Any thread; lock-free once a
// kernel is known.
class LaunchNames {
 public:
  explicit LaunchNames(const Arena& arena)
      : table_(arena.launch_names()), launches_(arena.launches()) {}

  void note(const char* name, std::uint32_t correlation_id);
  // Call after resetting the arena.
  void start_over();

 private:
  const StringEntry* add(const char* name);

  StringTable table_;
  std::span<std::atomic<std::uint64_t>> launches_;
  std::mutex adding_;
  std::size_t used_entries_ = 0;
  std::size_t used_text_ = 0;
};

// Replaces a string whose text died with the target.
inline constexpr std::string_view lost_text = "<name lost with the process>";

}  // namespace gpuprof::collect
