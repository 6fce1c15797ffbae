// Where a recording is asked and controlled while it runs: a socket in the folder of its
// listener's, which other gpuprof processes of the same user find.
#pragma once

#include <functional>
#include <string>

#include "libprof/wire/codec.hpp"

namespace gpuprof::launch {

// The recording's end. One thread.
class ControlSocket {
 public:
  using Answer = std::function<wire::Fields(const wire::Fields& request)>;

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

}  // namespace gpuprof::launch
