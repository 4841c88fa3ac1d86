/** The day of a moment, as partitions are named: `20261121`. */
export function nameDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10).replaceAll('-', '')
}

/** @param name `20261121` */
export function readDayStarts(name: string | null): number[] {
  const [, year, month, day] = /^(\d{4})(\d{2})(\d{2})$/.exec(name ?? '') ?? []
  return day === undefined ? [] : [Date.parse(`${year}-${month}-${day}T00:00:00Z`)]
}
