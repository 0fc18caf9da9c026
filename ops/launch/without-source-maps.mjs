// Keeps test processes and their threads from reading source maps.
//
// tap asks for source maps, and Node.js then reads the map of each file as it loads the file, in each thread: about a
// tenth of the processor time of tests that start threads. Stack traces name files and lines of `build` instead, which
// the compiler leaves much like the sources.
process.setSourceMapsEnabled(false);
// tap enables them again when a test imports it.
process.setSourceMapsEnabled = () => {};
