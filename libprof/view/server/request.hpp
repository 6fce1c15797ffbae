// HTTP/1.1 requests, as far as the viewer's server supports them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gpuprof::view {

// The head of a request. Untrusted.
struct Request {
  std::string method, path;
  std::map<std::string, std::string, std::less<>> query;  // decoded; parts with a name only
  std::string host, authorization;
  bool keep = true;  // keep the connection open

  // A whole number: digits with an optional minus; nullopt if missing or malformed.
  std::optional<std::int64_t> number(std::string_view name) const;
  std::string_view text(std::string_view name) const;
};

constexpr std::size_t longest_head = 16 << 10;  // bytes

// Parses everything up to the empty line; nullopt if malformed.
std::optional<Request> parse_request(std::string_view head);

constexpr std::string_view protobuf_type = "application/x-protobuf";

// Everything but protocol buffers is text in UTF-8.
struct Response {
  int status = 200;
  std::string_view type = "application/json";
  std::string body = {};
  // For slow responses: computes the response, which replaces all of the above, on its own thread.
  // May throw Error. `is_over`: nobody is waiting for it any more.
  using Later = std::function<Response(const std::function<bool()>& is_over)>;
  Later later = {};
};

// Head and body. `keep`: the connection stays open.
std::string written(const Response& response, bool keep);

}  // namespace gpuprof::view
