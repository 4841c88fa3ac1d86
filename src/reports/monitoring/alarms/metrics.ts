import type { MetricRegistry } from '../../../platform/metrics/registry.ts'
import type { AlarmEvaluator } from './evaluator.ts'

/** Adds the metrics of stability alarms; all replicas show the same numbers of alarms. */
export function addAlarmMetrics(
  metrics: MetricRegistry,
  evaluator: Pick<AlarmEvaluator, 'alarms' | 'outcomes'>,
): void {
  metrics.gauge(
    'scoreline_stability_alarms',
    'Deployments with an alarm, by the verdict of their last evaluation.',
    () => Object.entries(evaluator.alarms?.byVerdict ?? {}).map(([verdict, n]) => [{ verdict }, n]),
  )
  metrics.gauge(
    'scoreline_stability_alarms_overdue',
    'Alarms that should have been evaluated more than an hour ago.',
    () => evaluator.alarms?.overdue ?? 0,
  )
  metrics.counter(
    'scoreline_stability_evaluations_total',
    'Evaluations of alarms by this process, by outcome.',
    () => Object.entries(evaluator.outcomes).map(([outcome, n]) => [{ outcome }, n]),
  )
}
