#include "libprof/exchange/import/import.hpp"

#include <cstddef>
#include <streambuf>

#include "libprof/base/error.hpp"
#include "libprof/exchange/import/kineto.hpp"
#include "libprof/exchange/import/nsys.hpp"
#include "libprof/exchange/import/text_stream.hpp"
#include "libprof/read/profile_file.hpp"

namespace gpuprof::importing {
namespace {

// False for a file that cannot be opened: its reader reports why.
bool is_json(const std::string& path) {
  try {
    constexpr std::size_t most_blanks = std::size_t{64} << 20;
    TextStream text(path);
    std::streambuf& bytes = *text.stream().rdbuf();
    const std::string_view mark = "\xef\xbb\xbf", blanks = " \t\r\n";
    int first = bytes.sgetc();
    for (const char c : mark) {
      if (first == static_cast<unsigned char>(c)) first = bytes.snextc();
    }
    const auto is_blank = [&] {
      return first >= 0 && blanks.find(static_cast<char>(first)) != blanks.npos;
    };
    for (std::size_t i = 0; i < most_blanks && is_blank(); ++i) first = bytes.snextc();
    return first == '{' || first == '[';
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

NotImported import_file(const Job& job) {
  if (job.path.ends_with(".nsys-rep") || job.path.ends_with(".qdrep")) {
    throw Error(job.path + " is a report of Nsight Systems, whose format only nsys reads",
                "nsys export --type sqlite " + job.path + " writes a file that can be imported",
                ExitCode::import_failed);
  }
  if (is_json(job.path)) return import_kineto(job);
  reading::ProfileFile file(job.path);
  if (store::Database* database = file.nsys_export()) return import_nsys(*database, job);
  if (file.problem()) throw Error(*file.problem());
  throw Error(job.path + " is a " + file.description() + ", which needs no import",
              "gpuprof -i " + job.path + " prints its reports", ExitCode::import_failed);
}

}  // namespace gpuprof::importing
