#pragma once

namespace syncopate::capture {

/// Ends the program if something was written beside an array of DeviceMemory.
void require_intact(const void* memory);

}  // namespace syncopate::capture
