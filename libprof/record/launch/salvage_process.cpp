#include "libprof/record/launch/salvage_process.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/whole.hpp"
#include "libprof/record/launch/trusted_library.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::launch {
namespace {

using std::chrono::milliseconds;

// The descriptor numbers that apps/salvage expects.
constexpr int arena_number = 3;
constexpr int socket_number = 4;
constexpr int config_number = 5;

// Salvage reads some 300 MB/s on a slow machine.
constexpr std::uint64_t arena_bytes_per_ms = 50'000;
// A row is about as large as its record.
constexpr std::uint64_t rows_per_record = 4;
constexpr std::uint64_t frames_besides = 64 << 20;  // strings and framing
// How long a killed program may take to disappear.
constexpr std::chrono::seconds dying{2};

// Returns the memory in use. false: not a memfd. (Querying a file that the target serves could
// block.)
bool memory_of(int arena, std::uint64_t& bytes) {
  struct stat status {};
  if (arena < 0 || fcntl(arena, F_GET_SEALS) < 0 || fstat(arena, &status) != 0) return false;
  bytes = static_cast<std::uint64_t>(status.st_blocks) * 512;
  return true;
}

int memory_with(std::span<const std::byte> bytes) {
  const int file = memfd_create("gpuprof-salvage", MFD_CLOEXEC);
  if (file < 0) return -1;
  if (write_whole(file, bytes, 0)) return file;
  close(file);
  return -1;
}

}  // namespace

std::unique_ptr<SalvageProcess> SalvageProcess::start(const Job& job) {
  std::uint64_t memory = 0;
  if (job.program.empty() || job.cupti.empty() || !memory_of(job.arena, memory)) return nullptr;
  const TrustedLibrary library = trusted_library(job.cupti, job.offered, job.user);
  const milliseconds limit =
      job.patience + milliseconds(static_cast<std::int64_t>(memory / arena_bytes_per_ms));

  std::string received;
  for (const auto& [slot, generation] : job.received) {
    received += std::to_string(slot) + ":" + std::to_string(generation) + ",";
  }
  wire::Fields fields;
  fields.set("cupti", library.path);
  fields.set("received", received);
  fields.set("kinds", job.kinds);
  fields.set("metrics", job.measured ? "1" : "");
  fields.set("seconds", std::chrono::ceil<std::chrono::seconds>(limit).count());
  if (job.user != geteuid()) {
    fields.set("user", static_cast<std::int64_t>(job.user));
    fields.set("group", static_cast<std::int64_t>(job.group));
  }
  wire::Encoder config;
  config.fields(fields);

  std::unique_ptr<SalvageProcess> salvage(new SalvageProcess);
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return nullptr;
  salvage->socket_ = sockets[0];
  fcntl(sockets[0], F_SETFL, fcntl(sockets[0], F_GETFL) | O_NONBLOCK);
  const int file = memory_with(config.bytes());
  if (file >= 0) {
    try {
      salvage->helper_ = std::make_unique<HelperProcess>(
          job.program, std::vector<std::string>{},
          std::vector<HelperProcess::File>{
              {job.arena, arena_number}, {sockets[1], socket_number}, {file, config_number}},
          limit);
    } catch (const Error&) {
      // The caller counts what is missing.
    }
    close(file);
  }
  close(sockets[1]);
  if (!salvage->helper_) return nullptr;
  salvage->no_library_ = library.problem;
  salvage->bytes_left_ = rows_per_record * memory + frames_besides;
  return salvage;
}

SalvageProcess::~SalvageProcess() { close_socket(); }

void SalvageProcess::close_socket() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

bool SalvageProcess::came(std::size_t bytes) {
  if (bytes <= bytes_left_) {
    bytes_left_ -= bytes;
    return true;
  }
  ended_for_ = "the buffers it left behind claim more than they have room for";
  helper_->kill();
  return false;
}

HelperProcess::Clock::time_point SalvageProcess::next_look() const {
  // While its socket is polled, its end goes unnoticed only if something it started has the socket
  // too.
  constexpr milliseconds usual{200}, soon{20};
  const bool ending = helper_->overdue() || last_round_ || socket_ < 0;
  return HelperProcess::Clock::now() + (ending ? soon : usual);
}

bool SalvageProcess::look(bool something_came) {
  if (helper_->overdue() && ended_for_.empty()) {
    ended_for_ = "reading the buffers it left behind took too long and was ended";
    helper_->kill();
  }
  const bool given_up = HelperProcess::Clock::now() >= helper_->deadline() + dying;
  if (!helper_->ended()) return given_up;
  if (socket_ < 0 || given_up) return true;
  // End of file on the socket shows that everything was read. Without it, because something it
  // started has the socket too, a second round in which nothing comes must suffice.
  const bool before = std::exchange(last_round_, true);
  return before && !something_came;
}

std::string SalvageProcess::problem() const {
  if (helper_->succeeded() && ended_for_.empty()) return {};
  if (!ended_for_.empty()) return ended_for_;
  if (!no_library_.empty()) return "the buffers it left behind are not read: " + no_library_;
  return "reading the buffers it left behind failed part of the way";
}

}  // namespace gpuprof::launch
