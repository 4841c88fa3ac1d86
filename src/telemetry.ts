import { addProcessMetrics, addThreadMetrics, GarbagePauses } from './metrics/process.ts'
import { MetricRegistry } from './metrics/registry.ts'
import { RequestFigures } from './metrics/requests.ts'
import { Readiness } from './readiness.ts'
import { EventLoopWatch, threadClock } from './shedding/event-loop.ts'
import { LoadShedder } from './shedding/load-shedder.ts'

/** What operators see of the process, and what keeps it from collapse. */
export class Operations {
  readonly metrics = new MetricRegistry()
  readonly readiness = new Readiness()
  readonly requests = new RequestFigures()
  readonly shedder: LoadShedder
  private readonly loop: EventLoopWatch
  private readonly pauses = new GarbagePauses()

  constructor() {
    // The process' own time, whatever time a test lets the service see.
    this.loop = new EventLoopWatch(threadClock)
    this.shedder = new LoadShedder(this.loop)
    addProcessMetrics(this.metrics)
    addThreadMetrics(this.metrics, this.loop, this.pauses)
  }

  /** Watches event loop and garbage collector until `stop`. Without it no request is shed. */
  start(): void {
    this.loop.start()
    this.pauses.start()
  }

  stop(): void {
    this.loop.stop()
    this.pauses.stop()
  }
}
