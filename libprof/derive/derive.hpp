// What a file knows when its run is over, computed of all that was recorded: which NVTX range each
// launch was made in, what the GPU did for a range, how busy devices were, and their gaps. Of files
// of ours, of parts of them, and of what a killed launcher left.
#pragma once

#include <functional>
#include <memory>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::derive {

// One thread. Reading takes place outside a transaction, so that several connections can read.
class Derivation {
 public:
  // Reads. `stop` is asked now and then, may be empty, and ends it with a DatabaseError of the kind
  // interrupted. Throws Error when there is no room for temporary data. NVTX_RANGE has been
  // computed.
  explicit Derivation(store::Database& database, const std::function<bool()>& stop = {});
  ~Derivation();
  Derivation(const Derivation&) = delete;
  Derivation& operator=(const Derivation&) = delete;

  // Writes what it found in place of what the tables hold, inside the caller's transaction.
  void write(store::Database& database);

 private:
  struct Found;
  std::unique_ptr<Found> found_;
};

}  // namespace gpuprof::derive
