"""What is said of schedules by their names, because neither results nor records say it."""

# These train as synchronous SGD does, step by step. The first of them that a setting has is its baseline.
SYNCHRONOUS = ("s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "mg-wfbp-optimal", "fusion", "horovod", "ps-sgd")

GROUPED = ("ps-sgd", "asgd", "dc-asgd", "ssd-sgd")      # schedules that have the parameter "grouping"
