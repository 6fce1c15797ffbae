// The viewer's HTTP server, reachable only from this machine.
//
// It has one address, containing an unguessable token: clients without it, and pages of other sites
// whose host name was made to resolve to us (DNS rebinding), get nothing. It accepts only GET and
// changes nothing.
//
// One thread listens and answers; slow responses are computed on others (Response::later).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "libprof/view/model/answers.hpp"
#include "libprof/view/model/details.hpp"
#include "libprof/view/model/model.hpp"
#include "libprof/view/model/question.hpp"
#include "libprof/view/model/stops.hpp"
#include "libprof/view/server/request.hpp"

namespace gpuprof::view {

class Workers;

// A socket listening on 127.0.0.1. Not thread-safe.
class Listener {
 public:
  // 0: any free port. Throws Error.
  explicit Listener(std::uint16_t port);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint16_t port() const { return port_; }
  const std::string& token() const { return token_; }
  std::string address() const;  // "http://127.0.0.1:8123/TOKEN/"

  using Answer = std::function<Response(const Request&)>;

  // Answers requests until stop() returns true, which is polled several times a second and after
  // each signal. `answer` is passed requests that have the token, with the path after it.
  void serve(const Answer& answer, const std::function<bool()>& stop);

  // The response to a request; calls `answer` if the request is acceptable.
  Response respond(const Request& request, const Answer& answer) const;

 private:
  struct Connection;
  bool read(Connection& connection, const Answer& answer, Workers& workers) const;
  bool hear(Connection& connection, const Answer& answer, Workers& workers) const;

  int socket_ = -1;
  int woken_ = -1;  // an eventfd: a slow response is ready
  std::uint16_t port_ = 0;
  std::string token_;
};

// What is shown of a file.
struct Run {
  std::string title, path;
  Model model;
  Stops stops;
  std::vector<std::string> notes;
  // Reads the file; may throw Error.
  std::function<Details(const Place&, const Item&)> find_details;
  // Runs the user's SQL, see rows_answer(); may throw Error. May be called from any thread.
  std::function<std::string(std::string_view sql, const std::function<bool()>& is_over)> ask;
  // Reads the file for a question with the parameters of this request. May be called from any
  // thread.
  using Reader = std::function<std::string(const Asked&)>;
  std::function<std::string(const Reader&, const Request&, const std::function<bool()>& is_over)>
      answer;
};

// Answers the page's requests from runs, which must outlive this object: one run, or two side by
// side, of which the second includes the names of both.
class Answers {
 public:
  explicit Answers(std::vector<const Run*> runs, Growth growth = {})
      : runs_(std::move(runs)), growth_(growth) {}

  Response operator()(const Request& request) const;

 private:
  Response api(const Request& request) const;
  Response begin(const Run& run, const Request& request) const;
  Response comparison(const Request& request) const;
  Response differences(const Request& request) const;
  Response details(const Run& run, const Request& request) const;
  Response rows(const Run& run, const Request& request) const;

  const std::vector<const Run*> runs_;
  const Growth growth_;
};

}  // namespace gpuprof::view
