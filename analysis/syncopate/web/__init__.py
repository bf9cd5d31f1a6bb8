"""Filling the HTML pages: templates/, scripts/ and the chart library in vendor/."""
