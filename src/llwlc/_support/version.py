"""The version of this package, in one place: the build reads it here, and so does a checkout that is not installed."""

VERSION = "0.1.0"
