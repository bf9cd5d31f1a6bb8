#pragma once

#include "base/document.hpp"

namespace syncopate {

/// How much longer layers take beside a collective with `channels` channels (0.1: by a tenth), of a node/1 file that nodeprobe wrote: half
/// of it is the mean of the products of matrices, half that of the other kinds of compute. Between measured numbers of blocks it is linear,
/// and 0 at least. Throws InputError for a bad file, UsageError for channels outside of what the file has.
double overlap_slowdown_of_node(const Document& node, int channels);

}  // namespace syncopate
