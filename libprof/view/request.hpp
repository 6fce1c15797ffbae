// A request of HTTP/1.1, as far as the viewer's server takes it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gpuprof::view {

// The head of a request; nothing of it is trusted.
struct Request {
  std::string method, path;
  std::map<std::string, std::string, std::less<>> query;  // of parts that have a name, decoded
  std::string host;
  bool keep = true;  // the connection

  // A whole number, digits only but for a minus; nothing: it is missing or is none.
  std::optional<std::int64_t> number(std::string_view name) const;
  std::string_view text(std::string_view name) const;
};

constexpr std::size_t longest_head = 16 << 10;  // bytes

// Of all up to the empty line. Nothing: it is no request.
std::optional<Request> parse_request(std::string_view head);

struct Response {
  int status = 200;
  std::string_view type = "application/json";
  std::string body = {};
  // What may take long: makes the response, in place of all above, on a thread of its own; may
  // throw Error. `is_over`: nobody waits for it any more.
  using Later = std::function<Response(const std::function<bool()>& is_over)>;
  Later later = {};
};

// Head and body; `keep`: the connection stays open.
std::string written(const Response& response, bool keep);

}  // namespace gpuprof::view
