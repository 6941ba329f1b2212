-- Health of a PerfRun. The verdict is the condition Succeeded: Unknown while the run goes on, True, or False with the reason.
local hs = { status = "Progressing", message = "waiting for perfrun's operator" }

local verdict = nil
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, condition in ipairs(obj.status.conditions) do
    if condition.type == "Succeeded" then
      verdict = condition
    end
  end
end
if verdict == nil then
  return hs
end

if verdict.observedGeneration ~= obj.metadata.generation then
  hs.message = "waiting for perfrun's operator to see the latest change"
  return hs
end

hs.message = verdict.message
if verdict.status == "True" then
  hs.status = "Healthy"
elseif verdict.status == "False" then
  hs.status = "Degraded"
  hs.message = obj.status.phase .. " (" .. verdict.reason .. "): " .. verdict.message
elseif obj.status.phase == "Suspended" then
  hs.status = "Suspended"
end
return hs
