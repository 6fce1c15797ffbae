// Strings by id: what a record points to is sent once and named by a number from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
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

// Gives ids to strings. One thread at a time.
class Strings {
 public:
  virtual ~Strings() = default;
  // The id of a C string of the target, 0 for null.
  virtual std::uint32_t intern(const char* text) = 0;
  // Whether a C string of the target is known to read so.
  virtual bool reads(const char* text, std::string_view what) const = 0;
  // The id of `size` raw bytes, 0 for none. Never shared.
  virtual std::uint32_t bytes(const void* data, std::size_t size) = 0;

  // What was new since clear(): to be sent with the rows that use it.
  const StringBlock& fresh() const { return fresh_; }
  const StringBlock& fresh_bytes() const { return fresh_bytes_; }
  // Between batches.
  virtual void clear() {
    fresh_.clear();
    fresh_bytes_.clear();
  }

 protected:
  StringBlock fresh_;
  StringBlock fresh_bytes_;
};

// In the target: a table by pointer, kept in the arena. A pointer is only trusted while what it
// points to still reads the same, because CUPTI and NVTX reuse memory.
//
// Ids start over now and then, between batches: a program may have fresh NVTX messages for weeks,
// and whoever reads the stream keeps the last ids only (store/string_ids.hpp).
class LiveStrings : public Strings {
 public:
  // More ids are given in one batch only.
  static constexpr std::uint32_t most_ids = 1 << 17;

  explicit LiveStrings(const Arena& arena) : table_(arena.strings()) {}

  std::uint32_t intern(const char* text) override;
  bool reads(const char* text, std::string_view what) const override {
    return text && what == text;
  }
  std::uint32_t bytes(const void* data, std::size_t size) override;
  void clear() override;

 private:
  void start_over();

  StringTable table_;
  std::uint32_t last_id_ = 0;
  std::uint32_t last_bytes_id_ = 0;  // of this batch
  std::size_t used_entries_ = 0;
  std::size_t used_text_ = 0;
};

// In the launcher's salvage: the table the target left behind. The pointers lead nowhere any more.
// The texts together are no longer than the arena's room for them: a forged table could name one
// text in all its entries.
class LeftStrings : public Strings {
 public:
  explicit LeftStrings(const Arena& arena);

  std::uint32_t intern(const char* text) override;
  bool reads(const char* text, std::string_view what) const override;
  std::uint32_t bytes(const void*, std::size_t) override { return 0; }

  // Makes the name that a launch gave known under the pointer its record has, unless it is already.
  void learn(const char* pointer, std::uint32_t correlation_id);

  std::uint64_t lost() const { return lost_; }

 private:
  // What the target's table has under the pointer; null: nothing, or nothing that adds up.
  const StringEntry* left(const char* text) const;
  // The id of one more string; 0 when there are no ids left.
  std::uint32_t add(std::string_view text);
  // Takes room for a text, and for the zero behind it. false: an honest table has not so much.
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

// In the target: which kernel each launch is of, from the launch callback. Any thread; lock-free
// once a kernel is known.
class LaunchNames {
 public:
  explicit LaunchNames(const Arena& arena)
      : table_(arena.launch_names()), launches_(arena.launches()) {}

  void note(const char* name, std::uint32_t correlation_id);
  // The arena was reset.
  void start_over();

 private:
  const StringEntry* add(const char* name);

  StringTable table_;
  std::span<std::atomic<std::uint64_t>> launches_;
  std::mutex adding_;
  std::size_t used_entries_ = 0;
  std::size_t used_text_ = 0;
};

// What stands for a string whose text died with the target.
inline constexpr std::string_view lost_text = "<name lost with the process>";

}  // namespace gpuprof::collect
