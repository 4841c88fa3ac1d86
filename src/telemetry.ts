import { Readiness } from './http/readiness.ts'
import { RequestMetrics } from './http/request-metrics.ts'
import { LoadShedder } from './overload/load-shedder.ts'
import { EventLoopWatch, threadClock } from './platform/event-loop.ts'
import { addProcessMetrics, addThreadMetrics, GarbagePauses } from './platform/metrics/process.ts'
import { MetricRegistry } from './platform/metrics/registry.ts'

/** Metrics and readiness of the process, and the shedding of load under overload. */
export class Telemetry {
  readonly metrics = new MetricRegistry()
  readonly readiness = new Readiness()
  readonly requests = new RequestMetrics()
  readonly shedder: LoadShedder
  private readonly loop: EventLoopWatch
  private readonly pauses = new GarbagePauses()

  constructor() {
    // The real time, also where a test gives the service another clock.
    this.loop = new EventLoopWatch(threadClock)
    this.shedder = new LoadShedder(this.loop)
    addProcessMetrics(this.metrics)
    addThreadMetrics(this.metrics, this.loop, this.pauses)
  }

  /**
   * Watches the event loop and the garbage collector until `stop`. Without it no request is shed.
   */
  start(): void {
    this.loop.start()
    this.pauses.start()
  }

  stop(): void {
    this.loop.stop()
    this.pauses.stop()
  }
}
