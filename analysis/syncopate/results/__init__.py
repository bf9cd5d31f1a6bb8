"""Result folders of simctl run, read, checked and labelled."""
