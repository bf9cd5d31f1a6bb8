#pragma once

#include <boost/circular_buffer.hpp>
#include <cstddef>
#include <utility>

namespace syncopate {

/// First in, first out, with all elements at hand by their position; keeps its memory, unlike std::deque.
template <class T>
class Queue : public boost::circular_buffer<T> {
 public:
  void push_back(T value) {
    constexpr std::size_t smallest = 8;
    if (this->full()) this->set_capacity(2 * this->capacity() + smallest);
    boost::circular_buffer<T>::push_back(std::move(value));
  }
};

}  // namespace syncopate
