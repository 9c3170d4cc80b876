"""Every number of a training: one frozen dataclass per component, presets as data on top."""
