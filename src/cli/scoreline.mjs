// Runs the command line. What makes a start quick comes before the first module with types.
import '../platform/quick-start.mjs'

await import('./main.ts')
