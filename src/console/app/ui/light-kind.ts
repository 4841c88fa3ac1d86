/** Meanings of the lights of the console; each has a colour and a sign of its own. */
export type LightKind = 'good' | 'watch' | 'act' | 'unknown'
