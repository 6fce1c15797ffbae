// Where a recording is asked and controlled while it runs: a socket in its listener's folder, which
// other gpuprof processes of the same user find.
#pragma once

#include <sys/types.h>

#include <functional>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libprof/base/descriptor.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::launch {

// The recording's end. One thread.
class ControlSocket {
 public:
  // `caller`: its process, as the kernel says.
  using Answer = std::function<wire::Fields(const wire::Fields& request, pid_t caller)>;

  // Throws gpuprof::Error if there can be no socket in this folder, which only the user may open.
  explicit ControlSocket(const std::string& folder);
  // The folder's owner removes the socket's file.
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // The descriptor to poll.
  int descriptor() const { return socket_; }
  // Accepts a caller and answers its request. A caller of another user gets no answer, and one that
  // says nothing is left after a second.
  void serve(const Answer& answer) const;

 private:
  int socket_ = -1;
};

// The number of a process, or a file's absolute path, as `process` or `file`.
wire::Fields recording_of(const std::string& process_or_file);

// Sends a request to the recording of that process, or into that file, and returns its answer.
// Throws gpuprof::Error: there is no such recording, it does not answer, or it refuses.
wire::Fields ask_recording(const std::string& process_or_file, const wire::Fields& request);

// A recording that was asked and has not answered yet.
class AskedRecording {
 public:
  AskedRecording(Descriptor socket, pid_t process)
      : socket_(std::move(socket)), process_(process) {}

  pid_t process() const { return process_; }
  // Whether the answer has come, or will not; does not wait.
  bool is_over();
  // Once it is over; nullopt: there is none that makes sense.
  const std::optional<wire::Fields>& answer() const { return answer_; }

 private:
  Descriptor socket_;
  pid_t process_;
  std::optional<wire::Fields> answer_;
};

// Sends a request to the recordings of this user in the same folder for temporary files, except to
// the one whose socket is in `own_folder`, and waits for none of them. `full`: sockets of those for
// which too many others wait already.
std::list<AskedRecording> ask_other_recordings(const wire::Fields& request,
                                               const std::string& own_folder,
                                               std::vector<std::string>& full);

}  // namespace gpuprof::launch
