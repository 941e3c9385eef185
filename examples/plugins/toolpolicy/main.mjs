#!/usr/bin/env node
import { serve } from './plughook/plughook.mjs'
import { plugin } from './plugin.mjs'

serve(plugin)
