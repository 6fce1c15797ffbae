// Answers the viewer's page, on this machine alone.
//
// It knows one address, with a token that nobody can guess: whoever lacks it, and pages of other
// sites that were given our address by their own name (DNS rebinding), get nothing. It only takes
// GET, and changes nothing.
//
// One thread listens and answers; what takes long has one of its own (Response::later).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "libprof/view/answers.hpp"
#include "libprof/view/details.hpp"
#include "libprof/view/model.hpp"
#include "libprof/view/request.hpp"
#include "libprof/view/stops.hpp"
#include "libprof/view/untimed.hpp"

namespace gpuprof::view {

// A listening socket on 127.0.0.1. Belongs to one thread.
class Listener {
 public:
  // 0: any port that is free. Throws Error.
  explicit Listener(std::uint16_t port);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint16_t port() const { return port_; }
  const std::string& token() const { return token_; }
  std::string address() const;  // "http://127.0.0.1:8123/TOKEN/"

  using Answer = std::function<Response(const Request&)>;

  // Answers until stop() is true, which is asked some times a second and after each signal.
  // `answer` gets requests that have the token, with the path behind it.
  void serve(const Answer& answer, const std::function<bool()>& stop);

  // What is said to a request; answer() if it is to be heard.
  Response respond(const Request& request, const Answer& answer) const;

 private:
  struct Connection;
  bool read(Connection& connection, const Answer& answer) const;
  bool hear(Connection& connection, const Answer& answer) const;

  int socket_ = -1;
  int woken_ = -1;  // an eventfd: work is done
  std::uint16_t port_ = 0;
  std::string token_;
};

// What is shown of a file.
struct Run {
  std::string title;
  Model model;
  Stops stops;
  std::vector<std::string> notes;
  // Asks the file; may throw Error.
  std::function<Details(const Place&, const Item&)> find_details;
  // The same of what the user asks in SQL, see rows_answer(). On any thread.
  std::function<std::string(std::string_view sql, const std::function<bool()>& is_over)> ask;
  std::function<UntimedWork(const std::function<bool()>& is_over)> find_untimed;
};

// What the page asks, answered out of runs, which must outlive this: one, or two side by side, of
// which the second has the names of both.
class Answers {
 public:
  explicit Answers(std::vector<const Run*> runs, Growth growth = {})
      : runs_(std::move(runs)), growth_(growth) {}

  Response operator()(const Request& request) const;

 private:
  Response api(const Request& request) const;
  Response differences(const Request& request) const;
  Response details(const Run& run, const Request& request) const;
  Response untimed(const Run& run) const;
  Response rows(const Run& run, const Request& request) const;

  const std::vector<const Run*> runs_;
  const Growth growth_;
};

}  // namespace gpuprof::view
