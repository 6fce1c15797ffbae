#include "libprof/import/import.hpp"

#include "libprof/base/error.hpp"
#include "libprof/import/nsys.hpp"
#include "libprof/read/profile_file.hpp"

namespace gpuprof::importing {

NotImported import_file(const Job& job) {
  if (job.path.ends_with(".nsys-rep") || job.path.ends_with(".qdrep")) {
    throw Error(job.path + " is a report of Nsight Systems, whose format only nsys reads",
                "nsys export --type sqlite " + job.path + " writes a file that can be imported",
                ExitCode::import_failed);
  }
  reading::ProfileFile file(job.path);
  if (store::Database* database = file.nsys_export()) return import_nsys(*database, job);
  if (file.problem()) throw Error(*file.problem());
  throw Error(job.path + " is a " + file.description() + ", which needs no import",
              "gpuprof -i " + job.path + " prints its reports", ExitCode::import_failed);
}

}  // namespace gpuprof::importing
