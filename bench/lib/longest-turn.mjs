/**
 * Notes turns of the event loop, loaded into a process by `--import`: for each that took more than a
 * few milliseconds of processor time, a line with that time in the file that `TURNS_FILE` names. What
 * other processes do on the machine does not count.
 */
import { appendFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const EVERY_MS = 5
const NOTED_MS = 10

function look(file, before) {
  const { user, system } = process.threadCpuUsage(before)
  const ms = (user + system) / 1_000
  if (ms > NOTED_MS) appendFileSync(file, `${ms}\n`)
  const now = process.threadCpuUsage()
  setTimeout(() => look(file, now), EVERY_MS).unref()
}

const { TURNS_FILE } = process.env
if (isMainThread && TURNS_FILE !== undefined) look(TURNS_FILE, process.threadCpuUsage())
