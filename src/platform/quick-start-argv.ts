/** Arguments of Node with which a process or thread starts quickly. */
export const QUICK_START: readonly string[] = [
  '--import',
  new URL('./quick-start.mjs', import.meta.url).href,
]
