#include "simctl/commands.hpp"

int main(int argc, char** argv) { return syncopate::run_simctl(argc, argv); }
