// Runs the command line. What makes a start quick comes before the first module with types.
import '../platform/quick-start.mjs'

/** @param {'SIGTERM' | 'SIGINT'} signal */
function endAtOnce(signal) {
  // From then on, the service ends what it has begun.
  if (process.listenerCount(signal) === 1) process.exit(0)
}

// While modules load, there is nothing to end. Without this, the first process of a container would
// not hear the signal at all, and run until it is killed.
if (process.argv[2] === 'serve') {
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) process.on(signal, endAtOnce)
}

await import('./main.ts')
