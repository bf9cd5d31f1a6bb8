"""A node's local updates, layer by layer: a lane for updates, and one in which its GPUs get what has been updated."""

import math


class Lane:
    """One thing at a time; of those that may begin, the layer nearest to the input."""

    def __init__(self):
        self.layer, self.start, self.until = None, math.nan, math.inf

    def begin(self, layer, start, until):
        self.layer, self.start, self.until = layer, start, until

    def end(self):
        layer, self.layer, self.until = self.layer, None, math.inf
        return layer


class Updates:
    """Of one node. `seconds`, `spreading`: by layer, undisturbed; None for `spreading` where there is one GPU."""

    def __init__(self, worker, seconds, spreading):
        self.worker, self.seconds, self.spreading = worker, seconds, spreading
        self.updating, self.sharing = Lane(), Lane()
        self.ready, self.updated, self.undone = {}, set(), set()  # ready: {layer: may it begin?}; updated: to be spread
        self.ends = {}  # of the latest update of each layer

    def post(self, layer, condition):
        """Its gradients are ready; `condition`: are the pulls that it waits for in?"""
        self.ready[layer] = condition
        self.undone.add(layer)

    def progress(self, now, due):
        """What ends now: (whether something does, when the spreading of it began, if that is it)."""
        changed, since = False, None
        if due(self.updating.until):
            layer, changed = self.updating.end(), True
            self.ends[layer] = now
            if self.spreading:
                self.updated.add(layer)
            else:
                self.undone.remove(layer)
        if due(self.sharing.until):
            since, changed = self.sharing.start, True
            self.undone.remove(self.sharing.end())
        return changed, since

    def decide(self, now):
        """Starts an update; else, as none may end at this instant any more, the spreading of a layer. False if there is nothing."""
        ready = [layer for layer, condition in self.ready.items() if condition()]
        if self.updating.layer is None and ready:
            layer = min(ready)
            del self.ready[layer]
            self.updating.begin(layer, now, self.worker.advance(now, self.worker.slow * self.seconds[layer]))
            return True
        if self.sharing.layer is None and self.updated:
            layer = min(self.updated)
            self.updated.remove(layer)
            self.sharing.begin(layer, now, now + self.spreading[layer])
            return True
        return False
