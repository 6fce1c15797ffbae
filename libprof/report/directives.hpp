// Compiler directives: OpenACC (three tables) and OpenMP.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/report/session.hpp"

namespace gpuprof::report {

struct OpenaccKind {
  std::string_view table;
  std::string_view object;  // column of the variable or kernel; "0": none
};

inline constexpr std::array<OpenaccKind, 3> openacc_kinds{
    {{"OPENACC_DATA", "varName"}, {"OPENACC_LAUNCH", "kernelName"}, {"OPENACC_OTHER", "0"}}};

// "acc_enqueue_launch[kernels]@jacobi.c:42 (main_42_gpu)": the event, its construct (if requested),
// its place, and its variable or kernel. Names are numbered in order of appearance.
class OpenaccNames {
 public:
  explicit OpenaccNames(Session& session) : session_(session) {}

  // The row's columns from `first` on must be eventKind, parentConstruct, srcFile, lineNo and the
  // object.
  std::uint32_t number(const store::Statement& row, int first);
  const std::string& text(std::uint32_t number) const { return texts_[number]; }

 private:
  using Key = std::array<std::int64_t, 5>;
  std::string make(const Key& key);

  Session& session_;
  std::map<Key, std::uint32_t> numbers_;
  std::map<std::string, std::uint32_t> numbers_of_texts_;
  std::vector<std::string> texts_;
};

struct OpenaccRecord {
  std::int64_t process = 0;
  std::int64_t thread = 0;  // CUDA's thread id
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t time = 0;  // inclusive or exclusive, depending on the options
  std::uint32_t name = 0;
};

// SQL condition: records with valid times that pass --devices. The summary per GPU includes every
// record on each GPU, like nvprof's.
std::string openacc_valid(const Session& session, std::string_view kind);

// All records, in no particular order.
std::vector<OpenaccRecord> read_openacc(Session& session, OpenaccNames& names);

// "omp_parallel"; `kind` is CUpti_OpenMpEventKind.
std::string openmp_name(std::int64_t kind);

}  // namespace gpuprof::report
