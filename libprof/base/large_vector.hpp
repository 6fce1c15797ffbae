// Vectors of many millions of values.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace gpuprof {

// Asks the kernel for huge pages: with 4 KiB pages, getting the memory takes as long as filling it.
template <class T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}  // allocator conversion

  T* allocate(std::size_t count) {
    if (count > PTRDIFF_MAX / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t bytes = count * sizeof(T);
    if (bytes < from) return static_cast<T*>(::operator new(bytes));
    const std::size_t whole = (bytes + page - 1) / page * page;
    void* memory = std::aligned_alloc(page, whole);
    if (!memory) throw std::bad_alloc();
    madvise(memory, whole, MADV_HUGEPAGE);  // best effort
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    count * sizeof(T) < from ? ::operator delete(memory) : std::free(memory);
  }
  bool operator==(const LargePages&) const { return true; }

 private:
  static constexpr std::size_t page = std::size_t{2} << 20, from = 2 * page;
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

}  // namespace gpuprof
