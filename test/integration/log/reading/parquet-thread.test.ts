import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { ParquetThread } from '../../../../src/log/reading/export/parquet-thread.ts'

function openThread() {
  const thread = new ParquetThread()
  onTestFinished(() => thread.close())
  return { thread, worker: thread['worker'] }
}

// Unheard, the failure of a thread ends the service.
test('a thread that fails while nobody waits for it fails the next call', async () => {
  const { thread, worker } = openThread()
  worker.emit('error', new Error('no file descriptor is free'))
  await expect(thread.write([])).rejects.toThrow('no file descriptor is free')
})

test('a thread that ended between two calls does not let the second one wait', async () => {
  const { thread, worker } = openThread()
  await thread.write([])
  await worker.terminate()
  await expect(thread.end()).rejects.toThrow('the thread that writes Parquet has ended')
})

test('a thread that ends amid a call fails it', async () => {
  const { thread, worker } = openThread()
  await once(worker, 'online')
  const written = thread.write([])
  void worker.terminate()
  await expect(written).rejects.toThrow('the thread that writes Parquet has ended')
})
