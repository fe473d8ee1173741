//! Real input and output: calendars, task classes, tables and pictures.
