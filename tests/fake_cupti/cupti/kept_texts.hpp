// Texts that records point to.
#pragma once

namespace [[gnu::visibility("hidden")]] fake {

// Names stay where they are until the process ends, as CUPTI keeps them. Any thread.
const char* kept(const char* text);

}  // namespace gnu::visibility("hidden")]]fake
